# What runs may have left in the guest: mappings, arrays, names in /dev, labels of LVM, superblocks of md, mounts,
# journals.
left() {
  local device
  ls /sys/block | grep -E '^(dm-|md)' | sed 's/^/left: device /'
  ls -d /dev/assay* /dev/mapper/assay* /dev/md/assay* 2>/dev/null | sed 's/^/left: name /'
  for device in /dev/ubd[b-h]; do
    [ -e "$device" ] || continue
    blockdev --flushbufs "$device"
    wipefs --noheadings --output TYPE "$device" 2>/dev/null | sed "s|^|left: signature on $device: |"
  done
  grep -v ' hostfs ' /proc/mounts | grep -o 'assay-[^ ]*' | sed 's/^/left: mount /'
  ls /run/assay/*.journal 2>/dev/null | sed 's/^/left: journal /'
  echo "looked"
}
