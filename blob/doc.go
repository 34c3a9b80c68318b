// Package blob writes and reads datasets in blob layouts: many ranks write what
// they hold of decomposed arrays as a few large extents, and any number of
// readers gets the arrays back in canonical order.
//
//	Schema                       what a dataset holds, in canonical terms
//	Create, Append               collective: a Writer on each rank
//	Put, Writer.Flush, Close     data of a rank; write; commit
//	Open, Reader.Read, ReadRuns  hyperslabs, or any runs of elements
//	Reader.Inspect               where the files have it, and what is stored
//	Reader.Canonical             the netCDF file that Convert writes, as an io.ReaderAt
//	Convert, Check, Diff         to netCDF or between layouts; what is wrong; what differs
//	Recover, WriterOf            what a dead writer left; who writes
//
// A map (D1, D2, ...) says which rank owns which elements of an array, as a list
// of requests: offset and length in elements of the flattened canonical array. A
// blob is one rank's elements of one variable, or of one record of it, request by
// request: map order. A dataset is one or more subfiles, name.0000 and so on.
//
// A dataset appears, whole, when Close returns nil; a crash leaves the old state
// or the new one. One writer at a time holds a name (ErrInUse). Create, Append,
// Flush, FlushAsync, Wait and Close are collective: all ranks return nil, or all
// an error; Put is not. After an error a writer is broken (ErrBroken), and what
// it made is removed. A fault of a file is a *FormatError.
//
// docs/guide-go.md is the guide. Formats: docs/format-variable-centric.md,
// docs/format-process-centric.md (compressed files too), docs/format-manifest.md.
//
// This package is the face. Below internal: dataset (schema, options, headers), layout (where things lie), lease, process, write, read, watch, resume (append,
// adoption, recovery), check, convert, netcdf4.
//
// Read first: schema.go, writer.go, reader.go; then internal/write/writer.go and internal/read/window.go.
package blob
