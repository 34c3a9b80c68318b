package comm

import (
	"fmt"
	"math"
)

// Op is an operation that combines elements.
type Op uint8

// The operations. On integers Sum and Prod wrap around. LAnd and LOr take
// non-zero as true and give 0 or 1. Replace is for windows only.
const (
	Sum Op = iota
	Prod
	Max
	Min
	BAnd
	BOr
	BXor
	LAnd
	LOr
	Replace
	numOps
)

var opNames = [numOps]string{"Sum", "Prod", "Max", "Min", "BAnd", "BOr", "BXor", "LAnd", "LOr", "Replace"}

// String is the name of the constant.
func (op Op) String() string {
	if op < numOps {
		return opNames[op]
	}
	return fmt.Sprintf("Op(%d)", uint8(op))
}

// IdentityInt64 is the value e with e op x = x (for LAnd and LOr: = the truth of x).
func (op Op) IdentityInt64() int64 {
	switch op {
	case Prod, LAnd:
		return 1
	case Max:
		return math.MinInt64
	case Min:
		return math.MaxInt64
	case BAnd:
		return -1
	}
	return 0
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// CombineInt64 sets acc[i] = acc[i] op v[i].
func (op Op) CombineInt64(acc, v []int64) {
	v = v[:len(acc)]
	switch op {
	case Sum:
		for i, x := range v {
			acc[i] += x
		}
	case Prod:
		for i, x := range v {
			acc[i] *= x
		}
	case Max:
		for i, x := range v {
			acc[i] = max(acc[i], x)
		}
	case Min:
		for i, x := range v {
			acc[i] = min(acc[i], x)
		}
	case BAnd:
		for i, x := range v {
			acc[i] &= x
		}
	case BOr:
		for i, x := range v {
			acc[i] |= x
		}
	case BXor:
		for i, x := range v {
			acc[i] ^= x
		}
	case LAnd:
		for i, x := range v {
			acc[i] = truth(acc[i] != 0 && x != 0)
		}
	case LOr:
		for i, x := range v {
			acc[i] = truth(acc[i] != 0 || x != 0)
		}
	case Replace:
		copy(acc, v)
	}
}

// float says whether op is defined on floating-point elements.
func (op Op) float() bool { return op <= Min || op == Replace }

// combineFloat64 is CombineInt64 for the ops with float().
func (op Op) combineFloat64(acc, v []float64) {
	v = v[:len(acc)]
	switch op {
	case Sum:
		for i, x := range v {
			acc[i] += x
		}
	case Prod:
		for i, x := range v {
			acc[i] *= x
		}
	case Max:
		for i, x := range v {
			acc[i] = max(acc[i], x)
		}
	case Min:
		for i, x := range v {
			acc[i] = min(acc[i], x)
		}
	case Replace:
		copy(acc, v)
	}
}

// identityFloat64 is the identity of an op with float().
func (op Op) identityFloat64() float64 {
	switch op {
	case Prod:
		return 1
	case Max:
		return math.Inf(-1)
	case Min:
		return math.Inf(1)
	}
	return 0
}
