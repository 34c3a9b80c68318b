package commtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"blobio/comm"
)

// Runner runs f on n ranks and returns the error of the run. Each node has ranksPerNode consecutive ranks (0: all ranks are
// on one node). Ranks are goroutines or processes; f must not use t.
type Runner func(t *testing.T, n, ranksPerNode int, f func(ctx context.Context, c comm.Comm) error) error

// sizes are the numbers of ranks in most tests: one, powers of two, and others.
var sizes = []int{1, 2, 3, 8, 13}

// each runs f with every size.
func each(t *testing.T, run Runner, f func(ctx context.Context, c comm.Comm) error) {
	t.Helper()
	for _, n := range sizes {
		if err := run(t, n, 0, f); err != nil {
			t.Errorf("%d ranks: %v", n, err)
		}
	}
}

// Suite tests that the Comms of run fulfil the contract of comm.Comm.
func Suite(t *testing.T, run Runner) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Runner)
	}{
		{"Identity", testIdentity},
		{"Barrier", testBarrier},
		{"Bcast", testBcast},
		{"Gather", testGather},
		{"Allgather", testAllgather},
		{"Reuse", testReuse},
		{"Alltoallv", testAlltoallv},
		{"LongAlltoallv", testLongAlltoallv},
		{"Reductions", testReductions},
		{"Exscan", testExscan},
		{"LongReductions", testLongReductions},
		{"Typed", testTyped},
		{"FloatOrder", testFloatOrder},
		{"SendRecv", testSendRecv},
		{"LongMessages", testLongMessages},
		{"InPlace", testInPlace},
		{"Split", testSplit},
		{"SplitNode", testSplitNode},
		{"Share", testShare},
		{"Agree", testAgree},
		{"AgreeMin", testAgreeMin},
		{"Memory", testMemory},
		{"Window", testWindow},
		{"WindowRange", testWindowRange},
		{"WindowEpochs", testWindowEpochs},
		{"Mixed", testMixed},
		{"Calls", testCalls},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, run) })
	}
}

// part returns the data of rank r in these tests: r bytes of value r.
func part(r int) []byte {
	b := make([]byte, r)
	for i := range b {
		b[i] = byte(r)
	}
	return b
}

func equal(what string, got, want []byte) error {
	if string(got) != string(want) {
		return fmt.Errorf("%s: got %v, want %v", what, got, want)
	}
	return nil
}

func testIdentity(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		if c.Rank() < 0 || c.Rank() >= c.Size() {
			return fmt.Errorf("rank %d of %d", c.Rank(), c.Size())
		}
		v, err := c.AllreduceInt64(ctx, []int64{1 << c.Rank(), 1}, comm.Sum)
		if err != nil {
			return err
		}
		if v[0] != 1<<c.Size()-1 || v[1] != int64(c.Size()) {
			return fmt.Errorf("ranks are not 0 ... %d: bits %#x of %d ranks", c.Size()-1, v[0], v[1])
		}
		return nil
	})
}

// testBarrier: after a Barrier, each rank sees all earlier Puts into the window of rank 0.
func testBarrier(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		n := c.Size()
		w, err := c.NewWindow(ctx, make([]byte, n))
		if err != nil {
			return err
		}
		for round := byte(1); round <= 20; round++ {
			if err := w.Put(ctx, 0, int64(c.Rank()), []byte{round}); err != nil {
				return err
			}
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			got := make([]byte, n)
			if err := w.Get(ctx, 0, 0, got); err != nil {
				return err
			}
			if err := equal(fmt.Sprint("puts of round ", round), got, bytes.Repeat([]byte{round}, n)); err != nil {
				return err
			}
			if err := c.Barrier(ctx); err != nil {
				return err
			}
		}
		return w.Free(ctx)
	})
}

func testBcast(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		for root := range c.Size() {
			var b []byte
			if c.Rank() == root {
				b = part(root)
			}
			got, err := c.Bcast(ctx, root, b)
			if err == nil {
				err = equal("Bcast", got, part(root))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func testGather(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		for root := range c.Size() {
			got, err := c.Gather(ctx, root, part(c.Rank()))
			if err != nil {
				return err
			}
			if c.Rank() != root {
				if got != nil {
					return fmt.Errorf("rank that is not root got %d parts from Gather", len(got))
				}
				continue
			}
			if err := checkParts(c, got); err != nil {
				return err
			}
		}
		return nil
	})
}

func checkParts(c comm.Comm, got [][]byte) error {
	if len(got) != c.Size() {
		return fmt.Errorf("%d parts of %d ranks", len(got), c.Size())
	}
	for r, b := range got {
		if err := equal(fmt.Sprintf("part of rank %d", r), b, part(r)); err != nil {
			return err
		}
	}
	return nil
}

func testAllgather(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		got, err := c.Allgather(ctx, part(c.Rank()))
		if err != nil {
			return err
		}
		return checkParts(c, got)
	})
}

// testReuse: the caller may change arguments after the call returns.
func testReuse(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		next, prev := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
		for round := range 10 {
			b := part(c.Rank())
			spoil := func() {
				for i := range b {
					b[i] = 0xff
				}
			}
			var err error
			var all [][]byte
			want := part(c.Rank())
			switch round % 4 {
			case 0:
				all, err = c.Allgather(ctx, b)
				spoil()
			case 1:
				row := make([][]byte, c.Size())
				for i := range row {
					row[i] = b
				}
				all, err = c.Alltoallv(ctx, row)
				spoil()
			case 2:
				var one []byte
				one, err = c.Bcast(ctx, c.Size()-1, b)
				spoil()
				all, want = [][]byte{one}, part(c.Size()-1)
			case 3:
				if err := c.Send(ctx, next, 5, b); err != nil {
					return err
				}
				spoil()
				var one []byte
				one, err = c.Recv(ctx, prev, 5)
				all, want = [][]byte{one}, part(prev)
			}
			if err != nil {
				return err
			}
			if err := c.Barrier(ctx); err != nil { // all ranks have overwritten their arguments
				return err
			}
			if len(all) == 1 {
				err = equal("after reuse", all[0], want)
			} else {
				err = checkParts(c, all)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func testAlltoallv(t *testing.T, run Runner) {
	cell := func(from, to int) []byte { return part((3*from + 5*to) % 17) }
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		row := make([][]byte, c.Size())
		for to := range row {
			row[to] = cell(c.Rank(), to)
		}
		silent := c.Size() - 1 // this rank passes an empty slice and sends nothing
		if c.Rank() == silent && c.Size() > 1 {
			row = nil
		}
		got, err := c.Alltoallv(ctx, row)
		if err != nil {
			return err
		}
		if len(got) != c.Size() {
			return fmt.Errorf("got %d parts from Alltoallv, want %d", len(got), c.Size())
		}
		for from, b := range got {
			want := cell(from, c.Rank())
			if from == silent && c.Size() > 1 {
				want = nil
			}
			if err := equal(fmt.Sprintf("from rank %d", from), b, want); err != nil {
				return err
			}
		}
		return nil
	})
}

// testLongAlltoallv exchanges messages of several sizes, together with minima.
func testLongAlltoallv(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		for k, length := range []int{20_000, 131_072, 300_000} {
			cell := func(from, to int) []byte {
				n := (1 + to) * length / c.Size() / (1 + k%2*from)
				return bytes.Repeat([]byte{byte(from), byte(to), byte(k)}, n/3+1)[:n]
			}
			row := make([][]byte, c.Size())
			for to := range row {
				row[to] = cell(c.Rank(), to)
			}
			got, least, err := comm.AlltoallvMin(ctx, c, nil, row, int64(c.Rank()+k), -int64(c.Rank()))
			if err != nil {
				return err
			}
			if least[0] != int64(k) || least[1] != 1-int64(c.Size()) {
				return fmt.Errorf("length %d: minima %v, want %d and %d", length, least, k, 1-c.Size())
			}
			for from, b := range got {
				if want := cell(from, c.Rank()); !bytes.Equal(b, want) {
					return fmt.Errorf("length %d, from rank %d: got other bytes, or %d of %d", length, from, len(b), len(want))
				}
			}
		}
		bad, last := error(nil), c.Size()-1
		if c.Rank() == last {
			bad = errors.New("disk is full")
		}
		_, least, err := comm.AlltoallvMin(ctx, c, bad, nil, 7)
		if re := new(comm.RankError); !errors.As(err, &re) || re.Rank != last || len(least) != 1 || least[0] != 7 {
			return fmt.Errorf("an error of rank %d: got %v and %v", last, err, least)
		}
		return nil
	})
}

func testReductions(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		r, n := int64(c.Rank()), int64(c.Size())
		for _, k := range []struct {
			op      comm.Op
			v, want int64
		}{
			{comm.Sum, r + 1, n * (n + 1) / 2},
			{comm.Sum, math.MaxInt64, -n + n*math.MinInt64}, // wraps around
			{comm.Max, -r - 5, -5},
			{comm.Min, -r - 5, -n - 4},
		} {
			in := []int64{k.v, 0, k.v}
			got, err := c.AllreduceInt64(ctx, in, k.op)
			if err != nil {
				return err
			}
			if len(got) != 3 || got[0] != k.want || got[2] != k.want {
				return fmt.Errorf("%v of %d ranks: got %v, want %d", k.op, n, got, k.want)
			}
			if in[0] != k.v {
				return errors.New("AllreduceInt64 changed its argument")
			}
			got[0] = r // the caller owns the result
		}
		got, err := c.AllreduceInt64(ctx, nil, comm.Sum)
		if len(got) != 0 {
			return fmt.Errorf("no elements gave %v", got)
		}
		return err
	})
}

func testExscan(t *testing.T, run Runner) {
	val := func(rank int, i int64) int64 { return (int64(rank)*7+i*3)%11 - 4 }
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		for _, op := range []comm.Op{comm.Sum, comm.Max, comm.Min} {
			in := []int64{val(c.Rank(), 0), val(c.Rank(), 1)}
			got, err := c.ExscanInt64(ctx, in, op)
			if err != nil {
				return err
			}
			for i := range int64(2) {
				want := op.IdentityInt64()
				for r := range c.Rank() {
					want = simple(op, want, val(r, i))
				}
				if got[i] != want {
					return fmt.Errorf("rank %d, Exscan %v: got %d, want %d", c.Rank(), op, got[i], want)
				}
			}
			mine := int64(1000 + c.Rank()) // the caller owns the result
			got[0] = mine
			got = append(got, mine)
			got[1] = mine
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			if got[0] != mine || got[1] != mine || got[2] != mine {
				return errors.New("ranks share the result of ExscanInt64")
			}
		}
		return nil
	})
}

// simple applies op to two numbers.
func simple(op comm.Op, a, b int64) int64 {
	switch op {
	case comm.Sum:
		return a + b
	case comm.Max:
		return max(a, b)
	}
	return min(a, b)
}
