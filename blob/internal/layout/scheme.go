package layout

import (
	"io"

	"blobio/cdf5"
	"blobio/internal/base/h5"
)

// readGap is how many bytes are read and dropped rather than starting a new read.
const readGap = 8 << 10

// Traits are what is to be known of a layout where there is no file yet.
type Traits struct {
	Plain  bool // an ordinary file: one, without maps and blobs
	Grows  bool // an append adds records to the files; otherwise it adds a set of files
	ByRank bool // all that a rank has lies together, at a place that follows from the number of records; otherwise all of a variable's record
}

// Scheme is what differs between layouts. It has no state: what it needs is in the place.
type Scheme interface {
	traits() Traits

	// Place: see the methods of place.
	piece(p *Place, v int, rec int64, r *Ranks, i int) (off, n int64)
	mapPiece(p *Place, d, m int, r *Ranks, i int) (off, n int64)
	listAt(p *Place, d, m int, r *Ranks, i int) int64 // where entry i's list is in its extent
	whole(p *Place, v int, rec int64) (off int64, ok bool)
	extentBytes(p *Place, v int, t *Ranks) int64
	rows() bool                  // lists of a map are rows of equal width, one after the other
	elems(p *Place, v int) int64 // of an extent of a header variable; lists with their rows' padding
	pad(p *Place, v int) int64
	each(p *Place, records int64, visit func(v int, rec int64, j int) bool) // all pieces, in the order of the file

	// Header.
	bind(p *Place) // completes a place whose header is set
	appendHeader(h *cdf5.Header, b []byte) ([]byte, error)

	// Table: what the file says of its blobs.
	readTable(p *Place, f io.ReaderAt, name string, t *Ranks, l Listed) error
	tableAt(p *Place, d, m int, t *Ranks, j int) int64 // where it says so

	// Records.
	holds(p *Place, name string, have, want int64) error
	recordBytes(p *Place) int64 // that the file must have for each record; 0: none

	// Seal: what surrounds the data of a complete file.
	fileSize(p *Place, records int64) int64
	container(p *Place, dataLen int64) (*h5.Layout, error)
	settle(p *Place, all *Ranks, records int64) (*h5.Layout, error) // gives the blobs of all ranks their places; the metadata around them
	blobs(p *Place, at []int64) []int64                             // the manifest's list of the blobs' places; at has the places of all ranks

	// Reading.
	shown(off int64) int64 // offset to name for what is at off; -1: none
	gap() int64
	backed(p *Place, off, n int64, name, field string) (sure bool, err error) // whether the file has n bytes at off; not sure: they are to be read
	roomForLists(p *Place, t *Ranks, d int, name string) error
	mayLack(p *Place, n int64) bool // whether n bytes of the last variable can have been left unwritten
}

// TraitsOf returns what is to be known of a layout where there is no file yet.
func TraitsOf(how Scheme) Traits { return how.traits() }
