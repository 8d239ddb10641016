#!/bin/bash
# In the guest (guest.sh --script): a LUN that holds a volume group or an array of somebody else is refused, whether
# that works or rests, and stays as it is. A tool that is not there is named with its package.
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
source "$here/left.sh"
config='devices { use_devicesfile=0 types=["ubd",16] } activation { udev_sync=0 udev_rules=0 monitoring=0 }'
theirs() { lvm "$1" -y --config "$config" "${@:2}"; }

# study NAME KIND DEVICES [LINE OF THE LUN SET [LINE OF THE STACK]]
study() {
  cat >"$1.toml" <<END
[study]
name = "$1"
[luns.data]
devices = [$3]
${4:-}
[[stack]]
name = "volume"
kind = "$2"
data = "data"
${5:-}
[database]
cache = "2MiB"
schemas = 4
scale = "4MiB"
redo_size = "4MiB"
[[phase]]
name = "read"
kind = "random"
update_pct = 0
sessions = 4
time = "1s"
END
  assay run --yes --output "$1.assay" "$1.toml" >/dev/null 2>"$1.txt"
  echo "$1: exit $?: $(tr '\n' ' ' <"$1.txt")"
}

content() { head -c 8M "$1" | cksum; }

{
  theirs pvcreate /dev/ubdb
  theirs vgcreate theirs /dev/ubdb
  theirs lvcreate -Zn -Wn -l 4 -n kept theirs
  mdadm --create /dev/md/theirs --run --metadata=1.2 --level=1 --raid-devices=2 --assume-clean /dev/ubdc /dev/ubdd
} >foreign.txt 2>&1
study group-at-work lvm '"/dev/ubdb"' 'overwrite = true'
study array-at-work lvm '"/dev/ubdc"' 'overwrite = true'
theirs vgchange -an theirs >>foreign.txt 2>&1
mdadm --stop /dev/md/theirs >>foreign.txt 2>&1
before="$(content /dev/ubdb) $(content /dev/ubdc)"
study group-at-rest lvm '"/dev/ubdb"'
study array-at-rest lvm '"/dev/ubdc"'
assay clean >>foreign.txt 2>&1
if [ "$before" = "$(content /dev/ubdb) $(content /dev/ubdc)" ]; then echo "unchanged"; fi
theirs vgchange -ay theirs >>foreign.txt 2>&1 && echo "their group works"
mdadm --assemble /dev/md/theirs --run /dev/ubdc /dev/ubdd >>foreign.txt 2>&1 && echo "their array works"
theirs vgremove theirs >>foreign.txt 2>&1
theirs pvremove /dev/ubdb >>foreign.txt 2>&1
mdadm --stop --scan >>foreign.txt 2>&1
mdadm --zero-superblock /dev/ubdc /dev/ubdd >>foreign.txt 2>&1
# Without udev its node stays, and whoever opens that makes an empty array of it.
mdadm --stop /dev/md127 >>foreign.txt 2>&1
rm -rf /dev/md127 /dev/md

# The root of the guest lies in memory: the host keeps its tools.
hidden() {
  local path
  path=$(command -v "$1")
  mv "$path" "$path.away"
  study "no-$1" "$2" '"/dev/ubdb", "/dev/ubdc"' '' "${3:-}"
  mv "$path.away" "$path"
}
hidden lvm lvm
hidden mdadm md 'level = "raid0"'
left
