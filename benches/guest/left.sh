# What runs may have left in the guest: mappings, arrays, names in /dev, labels of LVM, superblocks of md, mounts,
# journals. Words of the shell alone, where they do: a process takes a tenth of a second in a guest.
left() {
  local found luns=() device type line
  for found in /sys/block/dm-* /sys/block/md*; do
    if [ -e "$found" ]; then echo "left: device ${found##*/}"; fi
  done
  for found in /dev/assay* /dev/mapper/assay* /dev/md/assay*; do
    if [ -e "$found" ] || [ -L "$found" ]; then echo "left: name $found"; fi
  done
  for device in /dev/ubd[b-o]; do
    if [ -e "$device" ]; then luns+=("$device"); fi
  done
  blockdev --flushbufs "${luns[@]}"
  while read -r device type; do
    if [ -n "$type" ]; then echo "left: signature on $device: $type"; fi
  done <<<"$(wipefs --noheadings --output DEVICE,TYPE "${luns[@]}" 2>/dev/null)"
  while read -r line; do
    if [[ $line != *' hostfs '* && $line == *assay-* ]]; then echo "left: mount $line"; fi
  done </proc/mounts
  for found in /sys/block/loop*/loop; do
    if [ -e "$found" ]; then echo "left: loop device ${found%/loop}"; fi
  done
  for found in /run/assay/*.journal; do
    if [ -e "$found" ]; then echo "left: journal $found"; fi
  done
  echo "looked"
}
