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

// A Reader gives the arrays of a dataset in canonical order, whatever its
// layout. It is safe for concurrent use.
type Reader struct{ r *read.Reader }

func (r *Reader) inner() *read.Reader {
	if r == nil {
		return nil
	}
	return r.r
}

// A Form is how a dataset is stored.
type Form struct {
	Layout     Layout
	Version    cdf5.Version // of the header: CDF5 for both blob layouts, and of a netCDF-4 file
	Compressed bool         // whether files are compressed: by the manifest, or the first header that is there
	NetCDF4    bool         // an ordinary netCDF-4 file, which is read as the equivalent CDF-5 file
}

// Range is the records First, First+1, ... below End.
type Range = read.Range

// Span is Count indices of a dimension, Stride apart, from First on.
type Span = read.Span

// Subset selects indices along dimensions, by name: one span after the other, each index at most once; dimensions without an entry are taken whole. Indices of the record dimension are records.
type Subset = read.Subset

// Open opens a dataset; path is a base name, one of its subfiles, an ordinary
// netCDF file, or a directory with one dataset. The content of the files
// decides what they are. Of the subfiles only the first is read.
func Open(ctx context.Context, path string, o *OpenOptions) (*Reader, error) {
	x, err := read.Open(ctx, path, (*read.OpenOptions)(o))
	if err != nil {
		return nil, err
	}
	return &Reader{x}, nil
}

// OpenComm is Open for the ranks of c: one rank of each process opens the
// dataset, and the others of the process share its Reader. One process
// reads the metadata for all. Every rank must Close. Collective.
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

// Inspect returns what shows how the files of the dataset hold it.
func (r *Reader) Inspect() *Inspector { return &Inspector{r.r} }

// Canonical returns the ordinary netCDF file that Convert would write with the same options. It makes the header only; data are computed
// when they are read.
func (r *Reader) Canonical(o *CanonicalOptions) (*CanonicalFile, error) {
	x, err := r.r.Canonical((*read.CanonicalOptions)(o))
	if err != nil {
		return nil, err
	}
	return &CanonicalFile{x}, nil
}

// LeftOut says of everything in a netCDF-4 file that has no place in CDF-5, and so is not in the schema, what it is and why
// it is left out: errors of class ErrUnsupported. It is empty for files of all other kinds.
func (r *Reader) LeftOut() []error { return r.r.Now().Data.LeftOut() }

// Collective returns what the ranks of c read the dataset with, in the state that it has now: after a Refresh, of all ranks, there is another.
// The Reader must stay open.
func (r *Reader) Collective(c comm.Comm) *Collective { return &Collective{r.r.Collective(c), c, r.r} }

// Map returns decomposition d of all ranks: blob j of subfile k is rank
// j + the blobs of all subfiles before. It is kept, see OpenOptions.Maps. Of a dataset that was continued with other maps
// it is the one of the beginning.
func (r *Reader) Map(ctx context.Context, d DecompID) (*decomp.Map, error) {
	return r.r.Now().Maps.Map(ctx, d)
}

// Coverage says how many elements of decomposition d no rank owns, or several do. Of a dataset that was continued with other maps it is the coverage of the map with
// the most of them.
func (r *Reader) Coverage(ctx context.Context, d DecompID) (worst decomp.Coverage, err error) {
	return r.r.Now().Maps.Coverage(ctx, d)
}

// Read reads a hyperslab of a variable in canonical order: count[i] elements
// from start[i] on along each dimension, the record dimension included. Nil
// for both means the whole variable. dst is a slice of numbers ([]byte for
// char) of exactly that many elements; values are converted, and one that does
// not fit is an error that names its index. Elements that no rank wrote are
// the variable's _FillValue, or netCDF's default; Coverage says how many.
func (r *Reader) Read(ctx context.Context, name string, start, count []int64, dst any) error {
	return r.r.Read(ctx, name, start, count, dst)
}

// ReadBytes is Read of elements as they are, of the variable's type and high byte first if big, into bytes of exactly that
// length.
func (r *Reader) ReadBytes(ctx context.Context, name string, start, count []int64, dst []byte, big bool) error {
	return r.r.ReadBytes(ctx, name, start, count, dst, big)
}

// ReadRuns reads one record of a variable as a decomposition wants it: the
// elements of each run of flattened canonical indices, one run after the
// other. rec is 0 for a fixed variable. Any number of readers may do so with
// any decomposition, whoever wrote the dataset.
func (r *Reader) ReadRuns(ctx context.Context, name string, rec int64, runs []decomp.Req, dst any) error {
	return r.r.ReadRuns(ctx, name, rec, runs, dst)
}

// Missing returns the names of the subfiles that are not there.
func (r *Reader) Missing() []string { return r.r.Now().Data.Missing() }

// Unwritten returns how many bytes of the last variable a canonical file does
// not hold: they were never written, or are lost, and read as zeros.
func (r *Reader) Unwritten() int64 { return r.r.Now().Data.Unwritten() }

// Close releases the files.
func (r *Reader) Close() error { return r.r.Close() }

// Verify returns which checksums reading compares.
func (r *Reader) Verify() Verification { return r.r.Now().Files.Opt.Verify }

// Schema returns the canonical schema. For blob layouts it has the
// decompositions; the attributes that the layout adds are not in it.
func (r *Reader) Schema() *Schema { return &Schema{r.r.Now().Data.Schema} }

// Extend returns a copy of the dataset's schema to which Dim and Var add dimensions, and variables with records, for Append. Its ids are the ids of
// the writer. Additions that an existing dataset cannot have are an error of Schema.Err at once: fixed variables, decompositions, an unlimited
// dimension, and attributes of what it has, which Writer.SetAtt sets.
func (r *Reader) Extend() *Schema { return &Schema{r.r.Now().Data.Extend()} }

// Records returns the number of committed records.
func (r *Reader) Records() int64 { return r.r.Now().Data.Records }

// Base returns the path of the dataset without subfile number.
func (r *Reader) Base() string { return r.r.Files.Base }

// Manifest returns the dataset's manifest, nil if it was written by another program.
func (r *Reader) Manifest() *subfile.Manifest { return r.r.Now().Files.Manifest }

// Subfiles returns the number of subfiles of the first set, and the number of
// ranks that wrote the dataset.
func (r *Reader) Subfiles() (n, ranks int) { return r.r.Now().Data.Subfiles() }

// Refresh brings the reader to the state that is committed now, and returns its number of records. It takes no lock, and costs the writer nothing.
// As long as nothing was committed since, it costs the lookup of three names.
//
// All methods see the new state from then on; a call that is under way goes on with the one it began with. A commit or an append may bring
// records, sets of subfiles of other ranks, attributes and added variables (Schema returns another one then, in which dimensions and variables keep
// their ids). Values that were taken of a state keep it: a Schema, a View, a CanonicalFile, a Manifest. Take new ones.
//
// A dataset that was replaced is ErrBroken, as is one that has fewer records than before; then Open it again. After an error the reader keeps the state that
// it has. It is safe for concurrent use.
func (r *Reader) Refresh(ctx context.Context) (records int64, err error) { return r.r.Refresh(ctx) }

// WaitRecords refreshes the reader until it has n records or more, or its writer has finished, and returns how many it has: fewer than n only if
// there will be no more. A writer that died is a WriterDiedError, within twice the period of its heartbeat; what it has committed
// can be read. An unmarked dataset is waited for until ctx is done. No lock is taken; it looks a few times in a second.
func (r *Reader) WaitRecords(ctx context.Context, n int64) (int64, error) {
	return r.r.WaitRecords(ctx, n)
}

// NewRecords yields the numbers of the records from that one on, each as soon as it is committed, and ends when the writer has finished. An error,
// as of WaitRecords, is its last.
func (r *Reader) NewRecords(ctx context.Context, from int64) iter.Seq2[int64, error] {
	return r.r.NewRecords(ctx, from)
}

// View returns a part of the dataset. Nil stands for all variables, and for all of each dimension.
func (r *Reader) View(vars []string, sub Subset) (*View, error) {
	x, err := r.r.View(vars, sub)
	if err != nil {
		return nil, err
	}
	return &View{x}, nil
}
