# A study as the tests run it where time is short. It ends after the block in which TIME is over, and does not try how
# fast the guest reads. Its LUN files are half as large, and work before and after a move is over at once. `assay run`
# refuses a TIME that is less than what its phases ask for in four blocks.
# short TIME FILE... >STUDY
short() {
  cat "${@:2}" | sed -e "s/^time_limit = .*/time_limit = \"$1\"/" -e 's/^\[study\]$/&\nio = "ring"/' \
    -e 's/size = "64MiB"/size = "32MiB"/' -e 's/^\(before\|after\) = .*/\1 = "200ms"/'
}
