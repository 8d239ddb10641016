# A study as the tests run it where time is short. It ends after the block in which TIME is over, and does not try how
# fast the guest reads. Its pages are twice as large, its log and its LUN files are smaller, and work before and after a
# move is over at once. `assay run` refuses a TIME that is less than what its phases ask for in four blocks.
# short TIME FILE... >STUDY
short() {
  cat "${@:2}" | sed -e "s/^time_limit = .*/time_limit = \"$1\"/" -e 's/^\[study\]$/&\nio = "ring"/' \
    -e 's/^\[database\]$/&\npage = "16KiB"/' -e 's/^redo_size = .*/redo_size = "1MiB"/' \
    -e 's/size = "\(32\|40\)MiB"/size = "24MiB"/' -e 's/size = "64MiB"/size = "32MiB"/' \
    -e 's/^\(before\|after\) = .*/\1 = "200ms"/'
}

# The same with half of the data.
shorter() { short "$@" | sed -e 's/^scale = .*/scale = "2MiB"/'; }
