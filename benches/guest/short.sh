# A study as the tests run it where time is short. It ends after the block in which TIME is over, and does not try how
# fast the guest reads. `assay run` refuses a TIME that is less than what its phases ask for in four blocks.
# short TIME FILE... >STUDY
short() {
  cat "${@:2}" | sed -e "s/^time_limit = .*/time_limit = \"$1\"/" -e 's/^\[study\]$/&\nio = "ring"/'
}
