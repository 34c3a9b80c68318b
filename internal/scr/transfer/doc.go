// Package transfer copies files between caches and the prefix directory. Copies are
// verified and durable. They run in the foreground, in the background or in a separate
// process, with limits of bandwidth and processor time. Files may be packed into containers.
//
//	New                 an Engine
//	Engine.Copy         one file
//	CopyAll, Resume     several files; Resume skips finished copies
//	Pack                offsets of files in containers
//	ReadFile, Serve     the transfer file of a node, and the process that executes it
//
// At each moment, also after a crash, the destination is either the old file or the whole
// copy. A copy is written under another name, synced and renamed, and then its folder is
// synced. Size and CRC-32 of the data are computed during the copy and compared with Job.Size
// and Job.CRC before the rename. If the source grows or shrinks while it is read, the copy
// fails. Without Options.Sync nothing is synced, and a crash of the system may damage copies.
// Ranges of containers are written in place. Their content is valid only when the map refers
// to it.
//
// Limits are token buckets. After each block the copy waits until the limits allow the bytes
// (Rate) and the time (CPU) of the block. The time of a block includes waiting for devices.
// Therefore the copy uses less processor time than CPU allows.
//
// docs/format-scr.md describes containers and the transfer file.
//
// Read first: job.go, copy.go.
package transfer
