# A study as the tests run it where time is short: it ends after the first block in which its time is over, and does
# not try how fast the guest reads. TIME must be enough for what its phases ask for in four blocks.
# short TIME FILE... >STUDY
short() {
  cat "${@:2}" | sed -e "s/^time_limit = .*/time_limit = \"$1\"/" -e 's/^\[study\]$/&\nio = "ring"/'
}
