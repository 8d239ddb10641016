//! What servers do first in a mount namespace of their own, in the words of the shell.
//!
//! Prevents: mounts of others, and of other stacks, that stay mounted as long as a server lives. A file system that a
//! namespace holds can't be taken down, and its device is not free.

/// Defines `let_go`, which unmounts all but the system's own and what two paths lie on. Mount points come escaped in
/// octal.
pub(crate) const LET_GO: &str = r#"
let_go() {
  mounts=$(cat /proc/self/mountinfo)
  while read -r _ _ _ _ place _; do
    place=$(printf %b "$place")
    case "$place" in
      /|/usr|/usr/*|/lib*|/bin|/sbin|/etc|/etc/*|/proc|/proc/*|/sys|/sys/*|/run|/var|/tmp) continue ;;
      /dev|/dev/pts|/dev/shm|/dev/mqueue|/dev/hugepages) continue ;;
    esac
    case "$1/" in "$place"/*) continue ;; esac
    case "$2/" in "$place"/*) continue ;; esac
    umount -c -l -n "$place" 2>/dev/null || true
  done <<MOUNTS
$mounts
MOUNTS
}
"#;
