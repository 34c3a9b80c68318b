package comm

import (
	"fmt"
	"math"
)

// Op is an operation that combines elements.
type Op uint8

// The values of Op. Sum of integers wraps around.
const (
	Sum Op = iota
	Max
	Min
	numOps
)

var opNames = [numOps]string{"Sum", "Max", "Min"}

// Valid reports whether op is an operation.
func (op Op) Valid() bool { return op < numOps }

// String returns the name of the constant.
func (op Op) String() string {
	if op.Valid() {
		return opNames[op]
	}
	return fmt.Sprintf("Op(%d)", uint8(op))
}

// IdentityInt64 returns the value e for which e op x = x.
func (op Op) IdentityInt64() int64 {
	switch op {
	case Max:
		return math.MinInt64
	case Min:
		return math.MaxInt64
	}
	return 0
}

// CombineInt64 sets acc[i] to acc[i] op v[i].
func (op Op) CombineInt64(acc, v []int64) { combine(op, acc, v) }

func combine[T int64 | float64](op Op, acc, v []T) {
	v = v[:len(acc)]
	switch op {
	case Sum:
		for i, x := range v {
			acc[i] += x
		}
	case Max:
		for i, x := range v {
			acc[i] = max(acc[i], x)
		}
	case Min:
		for i, x := range v {
			acc[i] = min(acc[i], x)
		}
	}
}

func (op Op) identityFloat64() float64 {
	switch op {
	case Max:
		return math.Inf(-1)
	case Min:
		return math.Inf(1)
	}
	return 0
}
