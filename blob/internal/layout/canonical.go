package layout

// Canonical is an ordinary netCDF file: the variable-centric layout with one blob, which has all elements and needs no map.
type Canonical struct{ Variable }

func (Canonical) traits() Traits { return Traits{Plain: true} }

func (Canonical) piece(p *Place, v int, rec int64, _ *Ranks, _ int) (off, n int64) {
	return p.Header.At.Extent(v, rec)
}

const (
	unwritten    = 64      // a file may lack this many times its own length at the end of the last variable
	fewUnwritten = 1 << 30 // or this many bytes
)

func (Canonical) mayLack(p *Place, n int64) bool {
	return n <= fewUnwritten || n/unwritten <= p.FileLen
}
