// Package blob writes and reads datasets in blob layouts. Many ranks write their
// pieces of decomposed arrays as a few large extents. Any number of readers reads
// the arrays in canonical order.
//
//	Schema                       the content of a dataset, in canonical terms
//	Create, Append               open a Writer on each rank
//	Put, Writer.Flush, Close     pass a rank's data; write them; commit
//	Open, Reader.Read, ReadRuns  read hyperslabs, or any runs of elements
//	Reader.Inspect               where and how the files store the data
//	Reader.Canonical             the netCDF file that Convert writes, as an io.ReaderAt
//	Convert, Check, Diff         convert to netCDF or between layouts; find faults; compare
//	Recover, WriterOf            clean up after a dead writer; find the present writer
//
// A map (D1, D2, ...) assigns the elements of an array to ranks. For each rank it
// has a list of requests. A request is an offset and a length, in elements of the
// flattened canonical array. A blob holds one rank's elements of one variable, or of
// one record of a variable, in the order of the rank's requests. A dataset is one or
// more subfiles, name.0000 and so on.
//
// The dataset is complete and visible when Close returns nil. After a crash, the old
// state or the new one is in force. Only one writer at a time can write a name
// (ErrInUse). Create, Append, Flush, FlushAsync, Wait and Close are collective: all
// ranks return nil, or all return an error. Put is not collective. After an error the
// writer has failed (ErrBroken), and its uncommitted files are removed. An error about
// a fault in a file is a *FormatError.
//
// docs/guide-go.md is the guide. The formats are in docs/format-variable-centric.md,
// docs/format-process-centric.md (including compressed files) and docs/format-manifest.md.
//
// This package is a thin API over its internal packages: dataset (schema, options, headers), layout (positions in files), lease,
// process, write, read, watch, resume (append, adoption, recovery), check, convert and netcdf4.
//
// Read first: schema.go, writer.go, reader.go; then internal/write/writer.go and internal/read/window.go.
package blob
