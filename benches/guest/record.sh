#!/bin/bash
# In the guest (guest.sh --luns 4 --size 48M --script): records what the kernel and the tools say of volumes in each
# state, as the room `stacks` asks them. The texts come to /lab/recorded; crates/stacks/tests/recorded keeps them.
#
# A scene is one file. "$ ..." begins a command: what it said, then lines of its errors ("2> ") and its exit code
# ("? 5") where there are any. "= path" begins a file of sysfs or procfs; a path that ends in "/" is a directory.
# "# at PATH OFFSET" is followed by bytes of a LUN in hexadecimal.
out=/lab/recorded
hex=0123456789abcdef0123456789abcdef
group=assay_$hex
array=/dev/md/assay-${hex:0:16}
config='devices { scan=["/dev"] obtain_device_list_from_udev=0 external_device_info_source="none" use_devicesfile=0
  hints="none" types=["ubd",16] issue_discards=0 filter=["a|.*|"] global_filter=["a|.*|"] }
  activation { udev_sync=0 udev_rules=0 verify_udev_operations=0 monitoring=0 } backup { backup=0 archive=0 }
  global { event_activation=0 use_lvmpolld=0 use_lvmlockd=0 }'
luns=(/dev/ubdb /dev/ubdc /dev/ubdd /dev/ubde)
mkdir -p "$out"

# LVM as the room calls it, on the LUNs of the scene.
volumes() { local IFS=,; lvm "$1" -y --devices "${luns[*]}" --config "$config" "${@:2}"; }

# said WORD... : what a command says, with its errors and its exit code.
said() {
  local shown="$*" code=0
  [ "$1" != volumes ] || shown="lvm ${*:2}"
  echo "\$ $shown"
  "$@" 2>/run/errors || code=$?
  while read -r line; do echo "2> $line"; done </run/errors
  [ "$code" = 0 ] || echo "? $code"
}

# Each of these files, and each name in these directories.
files() {
  local path text
  for path in "$@"; do
    if [ -d "$path" ]; then
      echo "= ${path#/}/"
    elif [ -r "$path" ] && text=$(cat "$path" 2>/dev/null); then
      printf '= %s\n%s\n' "${path#/}" "$text"
    fi
  done
}

# What the device mapper has.
mappings() {
  local dir
  for dir in /sys/block/dm-*; do
    files "$dir"/{size,dm/name,dm/uuid,holders,slaves} "$dir"/{holders,slaves}/*
  done
}

arrays() {
  local dir
  for dir in /sys/block/md*; do
    files "$dir"/slaves/* "$dir"/md/{uuid,level,raid_disks,array_state,sync_action,sync_completed,resync_start} \
      "$dir"/md/{degraded,mismatch_cnt,component_size} "$dir"/md/dev-*/state
  done
  files /proc/mdstat
}

status() { said dmsetup status "$group-${1:-data}"; }
used() {
  local lun
  for lun in "$@"; do said volumes pvs --noheadings --nosuffix --units b -o pv_used "$lun"; done
}

# differing COUNT COMMAND... : what it says, as often as it says something else, until it has said the same for long.
differing() {
  local last='' now='' nth=0 same=0 count=$1
  shift
  while [ "$nth" -lt "$count" ] && [ "$same" -lt 20 ]; do
    now=$("$@")
    if [ "$now" = "$last" ]; then same=$((same + 1)); else echo "$now"; same=0 nth=$((nth + 1)); fi
    last=$now
  done
}

slow() { echo 60 >/proc/sys/dev/raid/speed_limit_min; echo "${1:-60}" >/proc/sys/dev/raid/speed_limit_max; }
fast() { echo 200000 >/proc/sys/dev/raid/speed_limit_max; echo 200000 >/proc/sys/dev/raid/speed_limit_min; }

head_of() {
  local at=$2
  echo "# at $1 $at"
  dd if="$1" bs=32 skip=$((at / 32)) count=2 2>/dev/null | od -An -v -tx1 -w32 | tr -d ' '
}

grouped() {
  local lun nth=0
  for lun in "${luns[@]}"; do
    nth=$((nth + 1))
    wipefs -qaf "$lun"
    volumes pvcreate --uuid "00000$nth-0000-0000-0000-0000-0000-000000" --norestorefile "$lun"
  done
  volumes vgcreate --setautoactivation n "$group" "${luns[@]}"
}

ungrouped() {
  volumes vgchange -an "$group"
  volumes vgremove -ff "$group"
  local name
  for name in $(dmsetup ls | sed -n "s/^\($group-[^[:space:]]*\).*/\1/p"); do dmsetup remove --force "$name"; done
}

plain() {
  grouped
  volumes lvcreate -Wn -Zn --type "$1" "${@:2}" -l 60%FREE -n data "$group"
}

of_lvm() {
  { files /proc/sys/kernel/osrelease; said lvm version | sed '/Configuration:/d'; } >"$out/lvm-tool.txt"
  plain linear
  { status; mappings; used "${luns[@]}"; head_of /dev/ubdb 512; } >"$out/lvm-linear.txt"
  dmsetup create "$group-mine" --notable
  { status nothing; status mine; } >"$out/lvm-odd.txt"
  dmsetup load "$group-mine" --table "0 8 error"
  dmsetup resume "$group-mine"
  { status mine; mappings; } >>"$out/lvm-odd.txt"
  dmsetup remove "$group-mine"
  moved /dev/ubdb /dev/ubde >"$out/lvm-pvmove.txt"
  ungrouped
  plain striped -i 3 -I 64k
  { status; mappings; used "${luns[@]}"; } >"$out/lvm-striped.txt"
  volumes lvcreate -s -l 100%FREE -c 64k -n kept "$group/data"
  { status; status kept; status data-real; status kept-cow; mappings; } >"$out/lvm-cow.txt"
  ungrouped
  grouped
  volumes lvcreate --type thin-pool -Zn --poolmetadataspare n -l 60%FREE -n pool "$group"
  { status pool; mappings; } >"$out/lvm-pool.txt"
  volumes lvcreate --type thin -V 60m --thinpool pool -n data "$group"
  volumes lvcreate -s -kn -n kept "$group/data"
  { status; status kept; status pool-tpool; status pool_tdata; mappings; used "${luns[@]}"; } >"$out/lvm-thin.txt"
  moved /dev/ubdd /dev/ubde >"$out/lvm-thin-pvmove.txt"
  ungrouped
}

# What `pvmove` moves, slowly.
moved() {
  echo 2 >/sys/module/dm_mirror/parameters/raid1_resync_throttle
  volumes pvmove -i 1 "$1" "$2" >/dev/null 2>&1 &
  until dmsetup info "$group-pvmove0" >/dev/null 2>&1 || ! kill -0 $! 2>/dev/null; do :; done
  differing 4 status pvmove0
  status
  mappings
  echo 100 >/sys/module/dm_mirror/parameters/raid1_resync_throttle
  wait $!
  status pvmove0
  used "${luns[@]}"
}

mirrors_of_lvm() {
  slow
  grouped
  volumes lvcreate -Wn -Zn --type raid1 -m 1 -l 9 -n data "$group" "${luns[@]:0:2}"
  { differing 3 status; mappings; } >"$out/lvm-raid1-resync.txt"
  fast
  sleep 3
  { differing 2 status; mappings; used "${luns[@]}"; } >"$out/lvm-raid1.txt"
  moved /dev/ubdb /dev/ubdd >"$out/lvm-raid1-pvmove.txt"
  ungrouped
}

# A LUN that takes no more writes: a file in a memory that is full.
small() {
  mkdir -p /run/small
  mount -t tmpfs -o size=12m small /run/small
  truncate -s 48M /run/small/lun
  losetup --find --show /run/small/lun
}

lost_of_lvm() {
  local lost
  lost=$(small)
  luns=(/dev/ubdb "$lost" /dev/ubdd)
  grouped
  volumes lvcreate -Wn -Zn --type raid1 -m 1 --nosync -l 9 -n data "$group" "${luns[@]:0:2}"
  dd if=/dev/zero of="/dev/mapper/$group-data" bs=1M count=30 oflag=direct
  { differing 2 status; mappings; used "${luns[@]}"; } >"$out/lvm-raid1-lost.txt"
  luns=(/dev/ubdb /dev/ubdd)
  { used "${luns[@]}" "$lost"; said volumes pvs --noheadings --nosuffix --units b -o pv_used
  } >"$out/lvm-raid1-unknown.txt"
  luns=(/dev/ubdb "$lost" /dev/ubdd)
  slow
  said volumes lvconvert --repair "$group/data" /dev/ubdd >"$out/lvm-raid1-repair.txt"
  { differing 3 status; mappings; fast; sleep 3; status; } >>"$out/lvm-raid1-repair.txt"
  luns=(/dev/ubdb "$lost")
  without
  luns=(/dev/ubdb "$lost" /dev/ubdd)
  ungrouped
  losetup -d "$lost"
  umount /run/small
}

# A mirror that is started without one of its LUNs.
without() {
  volumes vgchange -an "$group"
  said volumes vgchange -ay "$group" >"$out/lvm-raid1-without.txt"
  { status; mappings; } >>"$out/lvm-raid1-without.txt"
}

made() {
  local level=$1 count=$2
  for lun in "${luns[@]}"; do wipefs -qaf "$lun"; mdadm --zero-superblock "$lun"; done
  mdadm --create "$array" --run --metadata=1.2 --homehost=assay "--name=assay-${hex:0:16}" \
    "--uuid=${hex:0:8}:${hex:8:8}:${hex:16:8}:${hex:24:8}" "--level=$level" "--raid-devices=$count" "${@:3}" \
    "${luns[@]:0:count}"
}

stopped() {
  local node
  node=$(realpath "$array")
  mdadm --stop "$array"
  rm -f "$array" "$node"
}

of_md() {
  { files /proc/sys/kernel/osrelease /proc/mdstat; said mdadm -V; } >"$out/md-tool.txt"
  made 0 3 --chunk=64
  { arrays; head_of /dev/ubdb 4096; } >"$out/md-raid0.txt"
  stopped
  slow
  for level in 1 10 5; do
    made "$level" "$((level == 1 ? 2 : level == 10 ? 4 : 3))" --bitmap=none
    sleep 1
    arrays >"$out/md-raid$level-sync.txt"
    fast
    mdadm --wait "$array"
    arrays >"$out/md-raid$level.txt"
    slow
    [ "$level" = 10 ] || changed "$level"
    stopped
  done
  unmatched
}

# A LUN gives its place to another one, then one is lost and another one comes in its place.
changed() {
  mdadm --manage "$array" --add /dev/ubde
  mdadm --manage "$array" --replace /dev/ubdb --with /dev/ubde
  sleep 1
  arrays >"$out/md-raid$1-replace.txt"
  fast
  mdadm --wait "$array"
  sleep 1
  arrays >"$out/md-raid$1-replaced.txt"
  mdadm --manage "$array" --remove /dev/ubdb
  mdadm --zero-superblock /dev/ubdb
  mdadm --manage "$array" --fail /dev/ubdc
  arrays >"$out/md-raid$1-lost.txt"
  mdadm --manage "$array" --remove /dev/ubdc
  arrays >"$out/md-raid$1-removed.txt"
  slow
  mdadm --manage "$array" --add /dev/ubdb
  sleep 1
  arrays >"$out/md-raid$1-recover.txt"
  fast
  mdadm --wait "$array"
  slow
}

# Parity that does not match: nobody has computed it.
unmatched() {
  dd if=/dev/urandom of=/dev/ubdc bs=1M count=40
  slow
  made 5 3 --bitmap=none --assume-clean
  echo check >"/sys/block/$(basename "$(realpath "$array")")/md/sync_action"
  sleep 1
  arrays >"$out/md-raid5-check.txt"
  fast
  mdadm --wait "$array"
  arrays >"$out/md-raid5-mismatch.txt"
  stopped
}

# The kernel gives up a LUN that takes no more writes.
lost_of_md() {
  local lost
  lost=$(small)
  luns=(/dev/ubdb "$lost")
  made 1 2 --bitmap=none --assume-clean
  dd if=/dev/zero of="$array" bs=1M count=30 oflag=direct
  arrays >"$out/md-raid1-write-error.txt"
  stopped
  losetup -d "$lost"
  umount /run/small
}

for part in of_lvm mirrors_of_lvm lost_of_lvm of_md lost_of_md; do
  luns=(/dev/ubdb /dev/ubdc /dev/ubdd /dev/ubde)
  "$part" >>/lab/recorded.log 2>&1
done
