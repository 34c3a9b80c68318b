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

// A Form describes the form in which a dataset is stored.
type Form struct {
	Layout     Layout
	Version    cdf5.Version // version of the header; CDF5 for blob layouts and netCDF-4 files
	Compressed bool         // the files are compressed, according to the manifest or, without one, to the first header found
	NetCDF4    bool         // an ordinary netCDF-4 file, read as the equivalent CDF-5 file
}

// Range is the range of records from First up to, but not including, End.
type Range = read.Range

// Span is Count indices of a dimension, from First on, Stride apart.
type Span = read.Span

// Subset selects indices of dimensions, by dimension name. The spans of a dimension are joined in order. Each index may occur
// once. A dimension without an entry is selected whole. The indices of the record dimension are record numbers.
type Subset = read.Subset

// Open opens a dataset. path is a base name, the name of a subfile, an ordinary netCDF file, or a directory with one dataset.
// Open recognizes files by their content. It reads the manifest and, of the subfiles, only the header of the first one.
func Open(ctx context.Context, path string, o *OpenOptions) (*Reader, error) {
	x, err := read.Open(ctx, path, (*read.OpenOptions)(o))
	if err != nil {
		return nil, err
	}
	return &Reader{x}, nil
}

// OpenComm opens a dataset for all ranks of c. One process reads the metadata and sends it to the others. In each process, one
// rank opens the dataset and shares its Reader with the process's other ranks. Every rank must call Close. Collective.
func OpenComm(ctx context.Context, c comm.Comm, path string, o *OpenOptions) (*Reader, error) {
	x, err := read.OpenComm(ctx, c, path, (*read.OpenOptions)(o))
	if err != nil {
		return nil, err
	}
	return &Reader{x}, nil
}

// Form returns the form in which the dataset is stored now.
func (r *Reader) Form() Form {
	now := r.r.Now().Data
	return Form{Layout: now.Layout, Version: now.Version(), Compressed: now.Compressed(), NetCDF4: now.NetCDF4()}
}

// Inspect returns an Inspector, which shows how the files store the dataset.
func (r *Reader) Inspect() *Inspector { return &Inspector{r.r} }

// Canonical returns the netCDF file that Convert would write with the same options. Canonical itself computes only the header.
// Reads of the file compute the data.
func (r *Reader) Canonical(o *CanonicalOptions) (*CanonicalFile, error) {
	x, err := r.r.Canonical((*read.CanonicalOptions)(o))
	if err != nil {
		return nil, err
	}
	return &CanonicalFile{x}, nil
}

// LeftOut returns an error of class ErrUnsupported for each item of a netCDF-4 file that CDF-5 cannot hold, with the reason.
// The schema does not contain these items. For other files LeftOut returns nothing.
func (r *Reader) LeftOut() []error { return r.r.Now().Data.LeftOut() }

// Collective returns a Collective, with which all ranks of c read the dataset in its present state. After a Refresh on all
// ranks, get a new Collective. The Reader must stay open.
func (r *Reader) Collective(c comm.Comm) *Collective { return &Collective{r.r.Collective(c), c, r.r} }

// Map returns decomposition d of all ranks. Rank i owns blob i, numbered through all subfiles. The Reader keeps the map in
// memory, see OpenOptions.Maps. If an append used other maps, Map returns the map of the first set.
func (r *Reader) Map(ctx context.Context, d DecompID) (*decomp.Map, error) {
	return r.r.Now().Maps.Map(ctx, d)
}

// Coverage returns the number of elements of decomposition d that no rank owns, and the number of elements that several ranks
// own. If an append used other maps, Coverage returns the worst result of all sets.
func (r *Reader) Coverage(ctx context.Context, d DecompID) (worst decomp.Coverage, err error) {
	return r.r.Now().Maps.Coverage(ctx, d)
}

// Read reads a hyperslab of a variable in canonical order: count[i] elements from start[i] along each dimension, including the
// record dimension. If start and count are nil, Read reads the whole variable. dst is a slice of numbers ([]byte for char) with
// exactly that many elements. Read converts the values to the type of dst; if one does not fit, the error names its index.
// Elements that no rank has written read as the variable's _FillValue, or as netCDF's default fill value. Coverage counts them.
func (r *Reader) Read(ctx context.Context, name string, start, count []int64, dst any) error {
	return r.r.Read(ctx, name, start, count, dst)
}

// ReadBytes is Read without conversion. It returns the elements in the variable's type, big-endian if big is set. dst must have
// exactly the length of the elements in bytes.
func (r *Reader) ReadBytes(ctx context.Context, name string, start, count []int64, dst []byte, big bool) error {
	return r.r.ReadBytes(ctx, name, start, count, dst, big)
}

// ReadRuns reads elements of one record of a variable: runs of flattened canonical indices, one run after another. rec is 0 for
// a fixed variable. Any number of readers may use any decomposition, whatever decomposition the writers used.
func (r *Reader) ReadRuns(ctx context.Context, name string, rec int64, runs []decomp.Req, dst any) error {
	return r.r.ReadRuns(ctx, name, rec, runs, dst)
}

// Missing returns the names of the missing subfiles.
func (r *Reader) Missing() []string { return r.r.Now().Data.Missing() }

// Unwritten returns the number of bytes of the last variable that a canonical file lacks. These bytes were never written, or
// are lost, and read as zeros.
func (r *Reader) Unwritten() int64 { return r.r.Now().Data.Unwritten() }

// Close releases the files.
func (r *Reader) Close() error { return r.r.Close() }

// Verify returns the checksums that reads compare.
func (r *Reader) Verify() Verification { return r.r.Now().Files.Opt.Verify }

// Schema returns the canonical schema. For blob layouts it includes the decompositions, but not the attributes that the layout
// adds.
func (r *Reader) Schema() *Schema { return &Schema{r.r.Now().Data.Schema} }

// Extend returns a copy of the schema, for Append. Dim and Var add dimensions and record variables to the copy, and the writer
// uses the ids that they return. An existing dataset cannot get fixed variables, decompositions, an unlimited dimension, or
// attributes of existing variables: Schema.Err reports these additions at once. Use Writer.SetAtt for attributes of existing
// variables.
func (r *Reader) Extend() *Schema { return &Schema{r.r.Now().Data.Extend()} }

// Records returns the number of committed records.
func (r *Reader) Records() int64 { return r.r.Now().Data.Records }

// Base returns the path of the dataset without the subfile number.
func (r *Reader) Base() string { return r.r.Files.Base }

// Manifest returns the dataset's manifest, or nil if another program wrote the dataset.
func (r *Reader) Manifest() *subfile.Manifest { return r.r.Now().Files.Manifest }

// Subfiles returns the number of subfiles of the first set, and the number of ranks that wrote it.
func (r *Reader) Subfiles() (n, ranks int) { return r.r.Now().Data.Subfiles() }

// Refresh brings the reader to the committed state and returns the number of records. It takes no lock and does not slow the
// writer. If nothing was committed since the last Refresh, it only looks up three names.
//
// Later calls see the new state; calls in progress finish with the old state. The new state may have more records, sets of
// subfiles of other ranks, attributes and variables. Schema then returns a new schema, in which dimensions and variables keep
// their ids. A Schema, View, CanonicalFile or Manifest from before keeps the old state.
//
// If the dataset was replaced, or has fewer records than before, the error is ErrBroken. Then open the dataset again. After an
// error the reader keeps its state. Refresh is safe for concurrent use.
func (r *Reader) Refresh(ctx context.Context) (records int64, err error) { return r.r.Refresh(ctx) }

// WaitRecords refreshes the reader until the dataset has n records or its writer has finished, and returns the number of
// records. If the number is below n, no more records will come. If the writer died, WaitRecords returns a WriterDiedError
// within twice the heartbeat period, and the committed records stay readable. For a dataset of another program, which does not
// mark the end of writing, WaitRecords waits until ctx is done. WaitRecords takes no lock, and looks a few times per second.
func (r *Reader) WaitRecords(ctx context.Context, n int64) (int64, error) {
	return r.r.WaitRecords(ctx, n)
}

// NewRecords yields record numbers from from on, each as soon as the record is committed. It ends when the writer has finished.
// The last item may be an error of WaitRecords.
func (r *Reader) NewRecords(ctx context.Context, from int64) iter.Seq2[int64, error] {
	return r.r.NewRecords(ctx, from)
}

// View returns a part of the dataset. If vars is nil, the part has all variables. If sub is nil, it has all indices.
func (r *Reader) View(vars []string, sub Subset) (*View, error) {
	x, err := r.r.View(vars, sub)
	if err != nil {
		return nil, err
	}
	return &View{x}, nil
}
