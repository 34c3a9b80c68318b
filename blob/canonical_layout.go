package blob

// canonical is an ordinary netCDF file: the variable-centric layout of one blob, which has everything and needs no map.
type canonical struct{ variable }

func (canonical) traits() traits { return traits{plain: true} }

func (canonical) piece(p *where, v int, rec int64, _ *ranks, _ int) (off, n int64) {
	return p.at.Extent(v, rec)
}

const (
	unwritten    = 64      // a file may lack so many times its bytes of its last variable, never written
	fewUnwritten = 1 << 30 // or so many bytes
)

func (canonical) mayLack(p *where, n int64) bool {
	return n <= fewUnwritten || n/unwritten <= p.fileLen
}
