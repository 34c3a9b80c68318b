// Package gf16 computes in the field of 2^16 elements with the polynomial 0x1100b, and with the Reed-Solomon code over this field
// by which FTI protects the files of a group (level 3). Words have 16 bits and are little-endian.
//
// A group of k ranks has k files and k parity files. A word of parity file i is the sum over j of 1/(i xor (k+j)) times the word of
// file j (a Cauchy matrix), with i and j from 0. Any k of the 2k files determine the others. Source: FTI_RSenc in FTI's postckpt.c.
package gf16

import (
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"sync"
)

const (
	poly  = 0x1100b
	order = 1<<16 - 1 // of the multiplicative group
)

var tables = sync.OnceValue(func() (t struct{ exp, log []uint16 }) {
	t.exp, t.log = make([]uint16, 2*order), make([]uint16, 1<<16)
	x := 1
	for i := range order {
		t.exp[i], t.exp[i+order], t.log[x] = uint16(x), uint16(x), uint16(i)
		if x <<= 1; x > order {
			x ^= poly
		}
	}
	return t
})

// Mul returns the product of two elements.
func Mul(a, b uint16) uint16 {
	if a == 0 || b == 0 {
		return 0
	}
	t := tables()
	return t.exp[int(t.log[a])+int(t.log[b])]
}

// inverse returns 1/a. a is not 0.
func inverse(a uint16) uint16 {
	t := tables()
	return t.exp[order-int(t.log[a])]
}

// Code returns the factor of file j's words in parity file i of a group of k ranks.
func Code(k, i, j int) uint16 { return inverse(uint16(i ^ (k + j))) }

// Decode returns the factors by which lost files of a group of k ranks are computed from as many parity files and all other files.
// Row n belongs to file lost[n]. Its first k factors belong to the files, and its last k factors to the parity files.
func Decode(k int, lost, parity []int) ([][]uint16, error) {
	inv, err := invert(k, lost, parity)
	if err != nil {
		return nil, err
	}
	rows := make([][]uint16, len(lost))
	for r := range rows {
		row := make([]uint16, 2*k)
		for n, i := range parity {
			row[k+i] = inv[r][n]
			for j := range k {
				row[j] ^= Mul(inv[r][n], Code(k, i, j))
			}
		}
		for _, j := range lost {
			row[j] = 0
		}
		rows[r] = row
	}
	return rows, nil
}

// invert inverts the matrix of Code for some parity files and as many lost files.
func invert(k int, lost, parity []int) ([][]uint16, error) {
	n := len(lost)
	if len(parity) != n {
		return nil, errors.New("the number of parity files must be the number of lost files")
	}
	a := make([][]uint16, n)
	for r := range a {
		a[r] = make([]uint16, 2*n)
		for c := range n {
			a[r][c] = Code(k, parity[r], lost[c])
		}
		a[r][n+r] = 1
	}
	for c := range n {
		pivot := c
		for pivot < n && a[pivot][c] == 0 {
			pivot++
		}
		if pivot == n { // only if a file is listed twice
			return nil, errors.New("parity files do not determine the lost files")
		}
		a[c], a[pivot] = a[pivot], a[c]
		f := inverse(a[c][c])
		for i := range a[c] {
			a[c][i] = Mul(a[c][i], f)
		}
		for r := range a {
			if f := a[r][c]; r != c && f != 0 {
				for i := range a[r] {
					a[r][i] ^= Mul(f, a[c][i])
				}
			}
		}
	}
	for r := range a {
		a[r] = a[r][n:]
	}
	return a, nil
}

// Factor multiplies words by an element.
type Factor struct {
	x      uint16
	lo, hi [256]uint16 // products of the bytes of a word
}

// NewFactor makes the tables of an element.
func NewFactor(x uint16) *Factor {
	f := &Factor{x: x}
	if x > 1 {
		for b := range 256 {
			f.lo[b], f.hi[b] = Mul(x, uint16(b)), Mul(x, uint16(b)<<8)
		}
	}
	return f
}

// AddTo adds the products of the words of src to the words of dst, which has the length of src. If the length is odd, the last
// byte is a word whose high byte is 0, and only the low byte of its product is added.
func (f *Factor) AddTo(dst, src []byte) {
	dst = dst[:len(src)]
	switch f.x {
	case 0:
		return
	case 1:
		subtle.XORBytes(dst, dst, src)
		return
	}
	n := 0
	for ; n+8 <= len(src); n += 8 {
		s := binary.LittleEndian.Uint64(src[n:])
		p := uint64(f.lo[byte(s)]^f.hi[byte(s>>8)]) | uint64(f.lo[byte(s>>16)]^f.hi[byte(s>>24)])<<16 |
			uint64(f.lo[byte(s>>32)]^f.hi[byte(s>>40)])<<32 | uint64(f.lo[byte(s>>48)]^f.hi[byte(s>>56)])<<48
		binary.LittleEndian.PutUint64(dst[n:], binary.LittleEndian.Uint64(dst[n:])^p)
	}
	for ; n+2 <= len(src); n += 2 {
		p := f.lo[src[n]] ^ f.hi[src[n+1]]
		binary.LittleEndian.PutUint16(dst[n:], binary.LittleEndian.Uint16(dst[n:])^p)
	}
	if n < len(src) {
		dst[n] ^= byte(f.lo[src[n]])
	}
}
