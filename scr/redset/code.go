package redset

import (
	"crypto/subtle"

	"github.com/klauspost/reedsolomon"
)

// coder computes elements of a stripe from others: out[i] from all of in. The slices have one
// length. A coder may be used by several goroutines at once.
type coder interface {
	code(out, in [][]byte) error
}

// newCoder returns the coder that makes the elements out of stripe c from its
// elements in; in has as many as the stripe has data elements.
func (l *layout) newCoder(c int, in, out []elem) (coder, error) {
	switch l.scheme {
	case XOR:
		return xorCoder{}, nil
	case RS:
		return newRSCoder(l, c, in, out)
	}
	return copyCoder{}, nil
}

// copyCoder makes copies of one element.
type copyCoder struct{}

func (copyCoder) code(out, in [][]byte) error {
	for _, o := range out {
		copy(o, in[0])
	}
	return nil
}

// xorCoder: the elements of a stripe add up to zero.
type xorCoder struct{}

func (xorCoder) code(out, in [][]byte) error {
	for _, o := range out {
		if len(in) == 1 {
			copy(o, in[0])
			continue
		}
		subtle.XORBytes(o, in[0], in[1])
		for _, b := range in[2:] {
			subtle.XORBytes(o, o, b)
		}
	}
	return nil
}

// rsCoder multiplies by a matrix over GF(2^8).
type rsCoder struct{ enc reedsolomon.Encoder }

// rsMatrix returns the k rows of n coefficients that make parity: the last rows of
// the Vandermonde matrix of n+k rows, reduced so that its top is the identity.
// It is the default matrix of reedsolomon.New.
func rsMatrix(n, k int) ([][]byte, error) {
	enc, err := reedsolomon.New(n, k, reedsolomon.WithMaxGoroutines(1))
	if err != nil {
		return nil, err
	}
	shards := make([][]byte, n+k) // byte j of shard i is 1 for i = j: what comes out is the matrix
	for i := range shards {
		shards[i] = make([]byte, n)
		if i < n {
			shards[i][i] = 1
		}
	}
	if err := enc.Encode(shards); err != nil {
		return nil, err
	}
	return shards[n:], nil
}

// newRSCoder. Members that hold parity of a stripe take part in it with zeros, so
// that their columns fall away: what is left is a shortened code, in which
// any len(in) elements give the others.
func newRSCoder(l *layout, c int, in, out []elem) (coder, error) {
	full, err := rsMatrix(l.n, l.k)
	if err != nil {
		return nil, err
	}
	d := len(in)
	rows := make([][]byte, l.k) // of the code on the data elements of this stripe alone
	for i := range rows {
		rows[i] = make([]byte, d)
	}
	for _, e := range l.elems(c) {
		if e.parity {
			continue
		}
		for i := range rows {
			rows[i][e.pos] = full[i][e.col]
		}
	}
	enc, err := reedsolomon.New(d, l.k, reedsolomon.WithCustomMatrix(rows), reedsolomon.WithMaxGoroutines(1))
	if err != nil {
		return nil, err
	}
	// The elements made of unit vectors are the coefficients.
	shards := make([][]byte, d+l.k)
	for i, e := range in {
		shards[e.pos] = make([]byte, d)
		shards[e.pos][i] = 1
	}
	want := make([]bool, d+l.k)
	for _, e := range out {
		want[e.pos] = true
	}
	if err := enc.ReconstructSome(shards, want); err != nil {
		return nil, err
	}
	coefs := make([][]byte, len(out))
	for i, e := range out {
		coefs[i] = shards[e.pos]
	}
	enc, err = reedsolomon.New(d, len(out), reedsolomon.WithCustomMatrix(coefs), reedsolomon.WithMaxGoroutines(1))
	if err != nil {
		return nil, err
	}
	return rsCoder{enc}, nil
}

func (c rsCoder) code(out, in [][]byte) error {
	return c.enc.Encode(append(append(make([][]byte, 0, len(in)+len(out)), in...), out...))
}
