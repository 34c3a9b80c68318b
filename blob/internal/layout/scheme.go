package layout

import (
	"io"

	"blobio/cdf5"
	"blobio/internal/base/h5"
)

// readGap is how many bytes a reader may read and drop to avoid another read.
const readGap = 8 << 10

// Traits are the properties of a layout that do not depend on a file.
type Traits struct {
	Plain  bool // a dataset is one ordinary file, without maps and blobs
	Grows  bool // an append adds records to the files; otherwise an append adds a set of files
	ByRank bool // all data of a rank are contiguous, at an offset that depends on the number of records; otherwise each record of a variable is contiguous
}

// Scheme is the interface of layouts. A Scheme has no state; the state is in the Place.
type Scheme interface {
	traits() Traits

	// Place: the methods of Place describe these.
	piece(p *Place, v int, rec int64, r *Ranks, i int) (off, n int64)
	mapPiece(p *Place, d, m int, r *Ranks, i int) (off, n int64)
	listAt(p *Place, d, m int, r *Ranks, i int) int64 // offset of entry i's list in the list's extent
	whole(p *Place, v int, rec int64) (off int64, ok bool)
	extentBytes(p *Place, v int, t *Ranks) int64
	rows() bool                  // the lists of a map are contiguous rows of equal width
	elems(p *Place, v int) int64 // number of elements of an extent of a header variable, including the padding of lists
	pad(p *Place, v int) int64
	each(p *Place, records int64, visit func(v int, rec int64, j int) bool) // visits all pieces in the order of the file

	// Header.
	bind(p *Place) // completes a Place after its header is set
	appendHeader(h *cdf5.Header, b []byte) ([]byte, error)

	// Table: the table of the blobs.
	readTable(p *Place, f io.ReaderAt, name string, t *Ranks, l Listed) error
	tableAt(p *Place, d, m int, t *Ranks, j int) int64 // offset of a number

	// Records.
	holds(p *Place, name string, have, want int64) error
	recordBytes(p *Place) int64 // minimum bytes of each record in the file

	// Seal: the HDF5 metadata around the data of a complete file.
	fileSize(p *Place, records int64) int64
	container(p *Place, dataLen int64) (*h5.Layout, error)
	settle(p *Place, all *Ranks, records int64) (*h5.Layout, error) // computes the offsets of the blobs of all ranks, and the metadata around them
	blobs(p *Place, at []int64) []int64                             // the manifest's list of the offsets of blobs; at has the offsets of all ranks

	// Reading.
	shown(off int64) int64 // offset in the file, or -1
	gap() int64
	backed(p *Place, off, n int64, name, field string) (sure bool, err error) // whether the file can have n bytes at off; if not sure, only reading shows it
	roomForLists(p *Place, t *Ranks, d int, name string) error
	mayLack(p *Place, n int64) bool // whether the last n bytes of the last variable may never have been written
}

// TraitsOf returns the traits of a layout.
func TraitsOf(how Scheme) Traits { return how.traits() }
