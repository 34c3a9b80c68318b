// Package transfer copies files between caches and the prefix directory: checked,
// durable, in the foreground, in the background or by a process of its own, under
// caps of bandwidth and processor time, and into containers.
//
//	New                 an Engine
//	Engine.Copy         one file
//	CopyAll, Resume     several; Resume leaves out what is there
//	Pack                places of files in containers
//	ReadFile, Serve     the transfer file of a node, and the process that obeys it
//
// Under the name of a destination there is at each moment, and after a crash at
// each moment, what was there before, or the whole copy: it is written under
// another name, synced and renamed, and the folder synced. The CRC-32 of the data
// is computed as they pass and compared with Job.Size and CRC before the renaming.
// A source that grows or shrinks while it is read is an error. Without Options.Sync
// nothing is synced: the rest holds as long as the system runs. Ranges of
// containers are written in place; what is in them counts when the map says so.
//
// Limits are token buckets: after each block the copy waits until the bytes (Rate)
// and the time since reading began (CPU) are paid for. The time of a block includes
// waiting for devices, so less of the processor is used than CPU allows.
//
// docs/format-scr.md has containers and the transfer file.
//
// Read first: job.go, copy.go.
package transfer
