package layout

// Canonical is the layout of an ordinary netCDF file: the variable-centric layout with one blob, which has all elements and
// needs no map.
type Canonical struct{ Variable }

func (Canonical) traits() Traits { return Traits{Plain: true} }

func (Canonical) piece(p *Place, v int, rec int64, _ *Ranks, _ int) (off, n int64) {
	return p.Header.At.Extent(v, rec)
}

const (
	unwritten    = 64      // at the end of the last variable, a file may lack up to this many times its own length
	fewUnwritten = 1 << 30 // or up to this many bytes
)

func (Canonical) mayLack(p *Place, n int64) bool {
	return n <= fewUnwritten || n/unwritten <= p.FileLen
}
