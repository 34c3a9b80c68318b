package layout

// Canonical is an ordinary netCDF file: the variable-centric layout of one blob, which has everything and needs no map.
type Canonical struct{ Variable }

func (Canonical) traits() Traits { return Traits{Plain: true} }

func (Canonical) piece(p *Place, v int, rec int64, _ *Ranks, _ int) (off, n int64) {
	return p.Header.At.Extent(v, rec)
}

const (
	unwritten    = 64      // a file may lack this many times its own bytes of the last variable, never written
	fewUnwritten = 1 << 30 // or this many bytes
)

func (Canonical) mayLack(p *Place, n int64) bool {
	return n <= fewUnwritten || n/unwritten <= p.FileLen
}
