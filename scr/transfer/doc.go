// Package transfer copies files between caches and the prefix directory: checked, durable, in the foreground, in the
// background or by a process of its own, under caps of bandwidth and processor time, into containers and compressed.
//
//	e, err := transfer.New(transfer.Options{Sync: true, Rate: 200e6})
//	r, err := e.Copy(ctx, transfer.Job{Src: "/ssd/f", Dst: "/p/sim/f", Size: 1 << 30, CRC: crc, HasCRC: true})
//	t := e.Start(ctx, jobs) // returns at once; what is there already is not copied
//	results, err := t.Wait(ctx)
//
// # What holds of a copy
//
//   - Under the name of a destination there is at each moment, and after a crash at each moment, what was there before,
//     or the whole copy. It is written as .blobio.<16 hex digits>.tmp in the same folder, synced, renamed, and the folder
//     synced. A failure or a cancel removes that file; a crash leaves it (durable.IsTemp, durable.Sweep).
//   - The CRC-32 of the data is computed as they pass, and they are compared with Size and CRC before the renaming. A
//     source that grows or shrinks while it is read is an error.
//   - Without Options.Sync nothing is synced: the rest holds as long as the system runs.
//   - Ranges of containers (Job.Out) are written in place. What is in them counts when the map says so, so the map is
//     written after them. Within one call of CopyAll or Start each container and each folder is synced once, not once
//     for each file.
//
// Data are read in blocks of 1 MiB; a block is summed while it is in the cache of the processor and written from the same
// memory.
//
// # Limits
//
// Both are token buckets that may be overdrawn: after a block is copied its bytes (Rate), and the time since its reading
// began (CPU), are taken out, and the copy waits until the debt is paid. At most what comes in 0.1 s is saved, and blocks
// are made as small as that (but not below 4 KiB). The time of a block includes waiting for devices, so less of the
// processor is used than CPU allows.
//
// # Containers
//
// All files of a dataset, one after the other, are one stream of bytes: nodes in the order of their lowest ranks, in a
// node by rank, in a rank in the order of the files. Byte o of it is in container ctr.<o div size>.scr at o mod size.
// Example of the reference, four ranks and size 8000: 8000, 8000 and 4982 bytes. Containers computes all segments; where
// each rank knows only its own offset in the stream, Pack does for its files.
//
// # Transfer file
//
// A key/value tree (package kvtree), transfer.scrinfo in the control directory of a node, changed in place under an
// exclusive lock: this package, or programs of SCR before 3, at both ends.
//
//	FILES/<source>/DESTINATION/<name>   both absolute
//	              /SIZE/<n>             bytes of the source
//	              /WRITTEN/<n>          bytes that were copied, at most SIZE; SIZE: durable under its name. Absent: 0
//	              /CRC/<%#x>            ours: of the data. Checked if it is there; written when the copy is done
//	              /ZSTD/1               ours: compress
//	              /META/1               ours: permissions, times and owner too
//	              /SEG/<n>/{FILE,OFFSET,LENGTH}  ours: places in containers, instead of DESTINATION, which is the first of them
//	              /ERROR/<text>         ours: it could not be copied. Take it away to have it tried again
//	PERCENT/<%f>                        most processor time, 0: no limit
//	BW/<%f>                             most bytes per second, 0: no limit
//	COMMAND/RUN, STOP, EXIT             what the library wants; absent: STOP
//	STATE/STOPPED, RUNNING, EXITING     what the process does; as it was when it was killed
//	FLAG/DONE                           all is copied
//	FLAG/FAILED                         ours: only files with ERROR are left
//
// Keys that are not known stay. Sizes are below 2^63; negative or infinite limits, other words, relative names and
// WRITTEN above SIZE are ErrCorrupt, a file without SIZE or DESTINATION wraps kvtree.ErrMissing.
//
// What differs from the daemon of the reference: that writes to the destination itself, in bursts each of which is
// synced; here WRITTEN below SIZE only tells how far the copy is, and a copy that was cut off begins anew.
package transfer
