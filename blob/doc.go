// Package blob writes and reads datasets in blob layouts. Many ranks write their
// pieces of decomposed arrays as a few large extents. Any number of readers reads
// the arrays in canonical order.
//
//	Schema                       the content of a dataset, in canonical terms
//	Create, Append               open a Writer on each rank
//	Put, Writer.Flush, Close     pass data of a rank; write; commit
//	Open, Reader.Read, ReadRuns  read hyperslabs, or any runs of elements
//	Reader.Inspect               where and how the files store the data
//	Reader.Canonical             the netCDF file that Convert writes, as an io.ReaderAt
//	Convert, Check, Diff         convert to netCDF or between layouts; find faults; compare
//	Recover, WriterOf            clean up after a dead writer; find the present writer
//
// A map (D1, D2, ...) assigns the elements of an array to ranks. It has a list of requests for each rank: offset and length in elements of the
// flattened canonical array. A blob holds one rank's elements of one variable, or of one record of a variable, in map order: request by request.
// A dataset is one or more subfiles, name.0000 and so on.
//
// A dataset is complete and visible when Close returns nil; a crash leaves the old state or the new state. A dataset has one writer at a time
// (ErrInUse). Create, Append, Flush, FlushAsync, Wait and Close are collective: all ranks return nil, or all return an error. Put is not
// collective. After an error the writer is broken (ErrBroken), and its uncommitted files are removed. A fault in a file is a *FormatError.
//
// docs/guide-go.md is the guide. The formats are in docs/format-variable-centric.md,
// docs/format-process-centric.md (compressed files too) and docs/format-manifest.md.
//
// This package forwards to its internal packages: dataset (schema, options, headers), layout (positions in files), lease, process, write,
// read, watch, resume (append, adoption, recovery), check, convert, netcdf4.
//
// Read first: schema.go, writer.go, reader.go; then internal/write/writer.go and internal/read/window.go.
package blob
