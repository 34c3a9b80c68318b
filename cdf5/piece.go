package cdf5

import "sync"

// padRoom is what padBytes may append to a full piece before it cuts.
const padRoom = 4

// getPiece takes a buffer of pieceLen bytes and room for a pad from a pool.
func getPiece(p *sync.Pool) *[]byte {
	if b, ok := p.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, pieceLen+padRoom)
	return &b
}
