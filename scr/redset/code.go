package redset

import (
	"crypto/subtle"

	"github.com/klauspost/reedsolomon"
)

// coder computes some elements of a stripe from other elements. Each out[i] depends on all of in. All slices have the same
// length. A coder is safe for concurrent use.
type coder interface {
	code(out, in [][]byte) error
}

// newCoder returns the coder that computes the elements out of stripe c from the elements in. The number of elements in must be
// the number of data elements of the stripe.
func (l *layout) newCoder(c int, in, out []elem) (coder, error) {
	switch l.scheme {
	case XOR:
		return xorCoder{}, nil
	case RS:
		return newRSCoder(l, c, in, out)
	}
	return copyCoder{}, nil
}

// noCoder stands for a coder that could not be made.
type noCoder struct{ err error }

func (c noCoder) code(_, _ [][]byte) error { return c.err }

// copyCoder copies one element.
type copyCoder struct{}

func (copyCoder) code(out, in [][]byte) error {
	for _, o := range out {
		copy(o, in[0])
	}
	return nil
}

// xorCoder computes the missing element. It is the XOR of all others, because the XOR of all elements of a stripe is zero. There is
// one output, which may be the first input.
type xorCoder struct{}

func (xorCoder) code(out, in [][]byte) error {
	o := out[0]
	if len(in) == 1 {
		copy(o, in[0])
		return nil
	}
	subtle.XORBytes(o, in[0], in[1])
	for _, b := range in[2:] {
		subtle.XORBytes(o, o, b)
	}
	return nil
}

// rsCoder multiplies by a matrix over GF(2^8).
type rsCoder struct{ enc reedsolomon.Encoder }

// rsMatrix returns the matrix that computes the parity, with k rows and n columns. They are the last rows of the Vandermonde
// matrix of n+k rows, reduced so that its top is the identity. This is the default matrix of reedsolomon.New.
func rsMatrix(n, k int) ([][]byte, error) {
	enc, err := reedsolomon.New(n, k, reedsolomon.WithMaxGoroutines(1))
	if err != nil {
		return nil, err
	}
	shards := make([][]byte, n+k) // shard i is the i-th unit vector, so that the output is the matrix
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

// newRSCoder returns the coder of a Reed-Solomon stripe. The members whose element of the stripe is parity would have zeros as
// data. Therefore their columns are left out. The result is a shortened code in which any len(in) elements determine the others.
func newRSCoder(l *layout, c int, in, out []elem) (coder, error) {
	full, err := rsMatrix(l.n, l.k)
	if err != nil {
		return nil, err
	}
	d := len(in)
	rows := make([][]byte, l.k) // rows of the code for the data elements that this stripe has
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
	// Encoding unit vectors gives the coefficients.
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
