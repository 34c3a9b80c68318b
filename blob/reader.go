package blob

import (
	"blobio/blob/internal/read"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/subfile"
	"context"
	"iter"
)

// A Reader reads the arrays of a dataset in canonical order, whatever its layout. It is safe for concurrent use.
type Reader struct{ r *read.Reader }

func (r *Reader) inner() *read.Reader {
	if r == nil {
		return nil
	}
	return r.r
}

// A Form describes how a dataset is stored.
type Form struct {
	Layout     Layout
	Version    cdf5.Version // header version; CDF5 for both blob layouts and for a netCDF-4 file
	Compressed bool         // files are compressed, by the manifest or else the first header found
	NetCDF4    bool         // an ordinary netCDF-4 file, read as the equivalent CDF-5 file
}

// Range is the range of records from First up to, but not including, End.
type Range = read.Range

// Span is Count indices of a dimension, Stride apart, starting at First.
type Span = read.Span

// Subset selects indices along dimensions, by dimension name. The spans of a dimension are joined in order; each index may occur
// once. Dimensions without an entry are taken whole. Indices of the record dimension are records.
type Subset = read.Subset

// Open opens a dataset. path is a base name, one of its subfiles, an ordinary netCDF file, or a directory with one dataset. Open
// detects the kind of the files by their content. It reads only the first subfile.
func Open(ctx context.Context, path string, o *OpenOptions) (*Reader, error) {
	x, err := read.Open(ctx, path, (*read.OpenOptions)(o))
	if err != nil {
		return nil, err
	}
	return &Reader{x}, nil
}

// OpenComm is Open for the ranks of c. One rank of each process opens the dataset and shares its Reader with the other ranks of
// the process. One process reads the metadata for all. Every rank must call Close. Collective.
func OpenComm(ctx context.Context, c comm.Comm, path string, o *OpenOptions) (*Reader, error) {
	x, err := read.OpenComm(ctx, c, path, (*read.OpenOptions)(o))
	if err != nil {
		return nil, err
	}
	return &Reader{x}, nil
}

// Form returns how the dataset is stored now.
func (r *Reader) Form() Form {
	now := r.r.Now().Data
	return Form{Layout: now.Layout, Version: now.Version(), Compressed: now.Compressed(), NetCDF4: now.NetCDF4()}
}

// Inspect returns an Inspector, which shows how the files store the dataset.
func (r *Reader) Inspect() *Inspector { return &Inspector{r.r} }

// Canonical returns the ordinary netCDF file that Convert would write with the same options. It computes only the header; reads
// of the file compute the data.
func (r *Reader) Canonical(o *CanonicalOptions) (*CanonicalFile, error) {
	x, err := r.r.Canonical((*read.CanonicalOptions)(o))
	if err != nil {
		return nil, err
	}
	return &CanonicalFile{x}, nil
}

// LeftOut returns one error of class ErrUnsupported for each item of a netCDF-4 file that CDF-5 cannot hold. The error gives the
// reason; the schema lacks the item. For other kinds of files LeftOut returns nothing.
func (r *Reader) LeftOut() []error { return r.r.Now().Data.LeftOut() }

// Collective returns a Collective with which the ranks of c read the dataset in its present state. After all ranks have called
// Refresh, get a new Collective. The Reader must stay open.
func (r *Reader) Collective(c comm.Comm) *Collective { return &Collective{r.r.Collective(c), c, r.r} }

// Map returns decomposition d of all ranks. Rank i owns blob i, counted through all subfiles. The Reader keeps the map, see
// OpenOptions.Maps. If the dataset was continued with other maps, Map returns the first one.
func (r *Reader) Map(ctx context.Context, d DecompID) (*decomp.Map, error) {
	return r.r.Now().Maps.Map(ctx, d)
}

// Coverage returns how many elements of decomposition d no rank owns, and how many have several owners. If the dataset was
// continued with other maps, Coverage returns the worst of their results.
func (r *Reader) Coverage(ctx context.Context, d DecompID) (worst decomp.Coverage, err error) {
	return r.r.Now().Maps.Coverage(ctx, d)
}

// Read reads a hyperslab of a variable in canonical order: count[i] elements from start[i] along each dimension, the record
// dimension included. Nil for both means the whole variable. dst is a slice of numbers ([]byte for char) of exactly that many
// elements. Values are converted; if one does not fit, the error names its index. Elements that no rank wrote read as the
// variable's _FillValue, or netCDF's default; Coverage counts them.
func (r *Reader) Read(ctx context.Context, name string, start, count []int64, dst any) error {
	return r.r.Read(ctx, name, start, count, dst)
}

// ReadBytes is Read without conversion: it fills the bytes with elements of the variable's type, big-endian if big is set. The
// length must match exactly.
func (r *Reader) ReadBytes(ctx context.Context, name string, start, count []int64, dst []byte, big bool) error {
	return r.r.ReadBytes(ctx, name, start, count, dst, big)
}

// ReadRuns reads one record of a variable for a decomposition: the elements of each run of flattened canonical indices, one run
// after another. rec is 0 for a fixed variable. Any number of readers may use any decomposition, independent of the writers.
func (r *Reader) ReadRuns(ctx context.Context, name string, rec int64, runs []decomp.Req, dst any) error {
	return r.r.ReadRuns(ctx, name, rec, runs, dst)
}

// Missing returns the names of the missing subfiles.
func (r *Reader) Missing() []string { return r.r.Now().Data.Missing() }

// Unwritten returns how many bytes of the last variable a canonical file lacks. They were never written, or are lost, and read as
// zeros.
func (r *Reader) Unwritten() int64 { return r.r.Now().Data.Unwritten() }

// Close releases the files.
func (r *Reader) Close() error { return r.r.Close() }

// Verify returns which checksums reads compare.
func (r *Reader) Verify() Verification { return r.r.Now().Files.Opt.Verify }

// Schema returns the canonical schema. For blob layouts it has the decompositions, but not the attributes that the layout adds.
func (r *Reader) Schema() *Schema { return &Schema{r.r.Now().Data.Schema} }

// Extend returns a copy of the dataset's schema for Append. Dim and Var add dimensions and record variables to the copy. The
// writer uses the same ids. Schema.Err reports at once additions that an existing dataset cannot have: fixed variables,
// decompositions, an unlimited dimension, and attributes of existing variables. Use Writer.SetAtt for such attributes.
func (r *Reader) Extend() *Schema { return &Schema{r.r.Now().Data.Extend()} }

// Records returns the number of committed records.
func (r *Reader) Records() int64 { return r.r.Now().Data.Records }

// Base returns the path of the dataset without the subfile number.
func (r *Reader) Base() string { return r.r.Files.Base }

// Manifest returns the dataset's manifest, or nil if another program wrote the dataset.
func (r *Reader) Manifest() *subfile.Manifest { return r.r.Now().Files.Manifest }

// Subfiles returns the number of subfiles of the first set, and the number of ranks that wrote the dataset.
func (r *Reader) Subfiles() (n, ranks int) { return r.r.Now().Data.Subfiles() }

// Refresh brings the reader to the state committed now and returns its number of records. It takes no lock and does not slow the
// writer. If nothing was committed since, Refresh only looks up three names.
//
// All later calls see the new state; a call under way finishes with the old one. A commit or an append may bring records, sets of
// subfiles of other ranks, attributes and new variables. Schema then returns a new schema, in which dimensions and variables keep
// their ids. A Schema, View, CanonicalFile or Manifest taken before keeps its state: take a new one.
//
// If the dataset was replaced, or has fewer records than before, the error is ErrBroken; open the dataset again. After an error
// the reader keeps its state. Refresh is safe for concurrent use.
func (r *Reader) Refresh(ctx context.Context) (records int64, err error) { return r.r.Refresh(ctx) }

// WaitRecords refreshes the reader until the dataset has n records or its writer has finished, and returns the number of records.
// The number is below n only if no more records will come. If the writer died, WaitRecords returns a WriterDiedError within twice
// the heartbeat period; committed records stay readable. For an unmarked dataset, WaitRecords waits until ctx is done. It takes
// no lock and looks a few times a second.
func (r *Reader) WaitRecords(ctx context.Context, n int64) (int64, error) {
	return r.r.WaitRecords(ctx, n)
}

// NewRecords yields record numbers, starting at from, as soon as each record is committed, and ends when the writer has finished.
// The last item may be an error, as from WaitRecords.
func (r *Reader) NewRecords(ctx context.Context, from int64) iter.Seq2[int64, error] {
	return r.r.NewRecords(ctx, from)
}

// View returns a part of the dataset. Nil vars means all variables; a nil sub means all indices.
func (r *Reader) View(vars []string, sub Subset) (*View, error) {
	x, err := r.r.View(vars, sub)
	if err != nil {
		return nil, err
	}
	return &View{x}, nil
}
