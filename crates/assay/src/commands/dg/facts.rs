//! A group, its disks and its files as the answers show them: words and JSON from the same facts.
//!
//! Prevents: an answer in JSON that says something else than the one in words.

use super::opened::Opened;
use super::table::{size, table};
use diskgroup::{DiskInfo, FileInfo, GroupInfo, Redundancy, Stripe};
use serde_json::{Value, json};

/// Everything that can be said of an open group.
pub(super) struct Facts {
    pub(super) group: GroupInfo,
    /// Disks with their paths.
    pub(super) disks: Vec<(DiskInfo, String)>,
    pub(super) files: Vec<FileInfo>,
}

pub(super) fn redundancy(redundancy: Redundancy) -> &'static str {
    match redundancy {
        Redundancy::External => "external",
        Redundancy::Normal => "normal",
        Redundancy::High => "high",
    }
}

fn stripe(stripe: Stripe) -> &'static str {
    match stripe {
        Stripe::Coarse => "coarse",
        Stripe::Fine => "fine",
    }
}

fn state(disk: &DiskInfo) -> &'static str {
    match disk {
        d if d.file.is_none() => "missing",
        d if !d.online => "offline",
        d if d.dropping => "dropping",
        d if d.failing => "failing",
        d if d.stale_bytes > 0 => "stale",
        _ => "online",
    }
}

impl Facts {
    pub(super) fn of(opened: &Opened) -> Facts {
        let with_path = |disk: DiskInfo| {
            let path = opened.path_of(&disk);
            (disk, path)
        };
        Facts {
            group: opened.group.info(),
            disks: opened.group.disks().into_iter().map(with_path).collect(),
            files: opened.group.files(),
        }
    }

    /// Bytes of new files that fit, with the group's own redundancy.
    fn usable(&self) -> u64 {
        self.group.free_bytes / self.group.redundancy.copies() as u64
    }

    pub(super) fn json(&self) -> Value {
        let g = &self.group;
        let disks: Vec<Value> = self
            .disks
            .iter()
            .map(|(d, path)| {
                json!({
                    "name": d.name, "number": d.number, "uuid": d.uuid.to_string(), "failure_group": d.failure_group,
                    "path": d.file.map(|_| path), "state": state(d), "total_bytes": d.total_bytes,
                    "free_bytes": d.free_bytes, "stale_bytes": d.stale_bytes, "partners": d.partners,
                })
            })
            .collect();
        let files: Vec<Value> = self
            .files
            .iter()
            .map(|f| {
                let on: serde_json::Map<String, Value> = f
                    .bytes_on
                    .iter()
                    .map(|(disk, bytes)| (disk.clone(), json!(bytes)))
                    .collect();
                json!({
                    "name": f.name, "bytes": f.size, "allocated_bytes": f.allocated_bytes,
                    "redundancy": redundancy(f.redundancy), "stripe": stripe(f.stripe), "extents": f.extents,
                    "bytes_on_disk": on,
                })
            })
            .collect();
        json!({
            "name": g.name, "uuid": g.uuid.to_string(), "redundancy": redundancy(g.redundancy),
            "au_bytes": g.au_bytes, "total_bytes": g.total_bytes, "free_bytes": g.free_bytes,
            "usable_bytes": self.usable(), "metadata_bytes": g.metadata_bytes, "rebalance_wanted": g.rebalance,
            "disks": disks, "files": files,
        })
    }

    /// A line for the group.
    pub(super) fn group_words(&self) -> String {
        let g = &self.group;
        let row = vec![
            redundancy(g.redundancy).to_string(),
            size(u64::from(g.au_bytes)),
            size(g.total_bytes),
            size(g.free_bytes),
            size(self.usable()),
            self.disks.len().to_string(),
            self.files.len().to_string(),
            if g.rebalance { "wanted" } else { "done" }.to_string(),
            g.name.clone(),
        ];
        let head = [
            "redundancy",
            "AU",
            "total",
            "free",
            "usable",
            "disks",
            "files",
            "rebalance",
            "group",
        ];
        table(&head, &[row])
    }

    /// A table of the disks.
    pub(super) fn disk_words(&self) -> String {
        let row = |(d, path): &(DiskInfo, String)| {
            vec![
                d.name.clone(),
                d.failure_group.clone(),
                state(d).to_string(),
                size(d.total_bytes),
                size(d.total_bytes - d.free_bytes),
                size(d.free_bytes),
                path.clone(),
            ]
        };
        let rows: Vec<Vec<String>> = self.disks.iter().map(row).collect();
        table(
            &["disk", "failure group", "state", "total", "used", "free", "path"],
            &rows,
        )
    }

    /// A table of the files.
    pub(super) fn file_words(&self) -> String {
        if self.files.is_empty() {
            return "no files\n".to_string();
        }
        let row = |f: &FileInfo| {
            vec![
                redundancy(f.redundancy).to_string(),
                stripe(f.stripe).to_string(),
                size(f.size),
                f.size.to_string(),
                size(f.allocated_bytes),
                f.extents.to_string(),
                format!("{}:{}", self.group.name, f.name),
            ]
        };
        let rows: Vec<Vec<String>> = self.files.iter().map(row).collect();
        table(
            &["redundancy", "stripe", "size", "bytes", "on disks", "extents", "file"],
            &rows,
        )
    }
}
