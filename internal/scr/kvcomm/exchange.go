package kvcomm

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"

	"blobio/comm"
	"blobio/internal/fault"
	"blobio/scr/kvtree"
)

// tagBase is the first of the tags that Exchange uses: two for each bit of a rank. Messages of one sender and tag arrive
// in order, so one exchange may begin while a slow rank is still in the one before.
const tagBase = 0x6b7600

// Exchange sends the tree below each key of send, which are ranks in decimal, to that rank (itself too). It returns
// what was sent to this rank, by the sender; ranks are set from 0 upwards. Nobody needs to know who sends to him.
//
// A message goes to the side where its way is shorter, in steps of a power of two: each rank sends two messages per bit
// of the number of ranks, however many ranks there are, and a tree is passed on once per bit set in its distance.
func Exchange(ctx context.Context, c comm.Comm, send *kvtree.Tree, opts *kvtree.Options) (*kvtree.Tree, error) {
	var parcels []parcel
	err := opts.Validate()
	if err == nil {
		parcels, err = pack(c, send)
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	if parcels, err = route(ctx, c, parcels); err != nil {
		return nil, err
	}
	recv, err := unpack(c, parcels, opts)
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	return recv, nil
}

// parcel is a packed tree on its way.
type parcel struct {
	from, to int
	b        []byte
}

// parcelHead is from, to and length, 4, 4 and 8 bytes.
const parcelHead = 16

// pack makes parcels of the trees below ranks.
func pack(c comm.Comm, send *kvtree.Tree) ([]parcel, error) {
	parcels := make([]parcel, 0, send.Len())
	for key, t := range send.All() {
		to, err := strconv.Atoi(key)
		if err != nil || to < 0 || to >= c.Size() || strconv.Itoa(to) != key {
			return nil, fault.Usage("exchange with %.40q, want a rank below %d", key, c.Size())
		}
		b, err := t.Pack()
		if err != nil {
			return nil, err
		}
		parcels = append(parcels, parcel{c.Rank(), to, b})
	}
	return parcels, nil
}

// unpack is the reverse, at the receiver. A sender sends one parcel.
func unpack(c comm.Comm, parcels []parcel, opts *kvtree.Options) (*kvtree.Tree, error) {
	byRank := make(map[int][]byte, len(parcels))
	low, high := c.Size(), -1
	for _, p := range parcels {
		byRank[p.from] = p.b
		low, high = min(low, p.from), max(high, p.from)
	}
	recv := kvtree.New()
	for from := low; from <= high; from++ {
		b, ok := byRank[from]
		if !ok {
			continue
		}
		t, err := kvtree.Unpack(b, opts)
		if err != nil {
			return nil, fmt.Errorf("tree of rank %d: %w", from, err)
		}
		recv.Set(strconv.Itoa(from), t)
	}
	return recv, nil
}

// route brings parcels to their ranks. After step k what is still on its way to the right has a distance that is a
// multiple of 2^(k+1), and the same to the left.
func route(ctx context.Context, c comm.Comm, parcels []parcel) ([]parcel, error) {
	n, me := c.Size(), c.Rank()
	var right, left, here []parcel
	// sortOut puts a parcel where it goes next.
	sortOut := func(p parcel, toRight bool) {
		switch {
		case p.to == me:
			here = append(here, p)
		case toRight:
			right = append(right, p)
		default:
			left = append(left, p)
		}
	}
	for _, p := range parcels {
		sortOut(p, 2*mod(p.to-me, n) <= n)
	}
	for k := 0; 2<<k <= n; k++ {
		step := 1 << k
		var b []byte
		b, right = take(right, func(p parcel) bool { return mod(p.to-me, n)&step != 0 })
		if err := c.Send(ctx, mod(me+step, n), tagBase+2*k, b); err != nil {
			return nil, err
		}
		b, left = take(left, func(p parcel) bool { return mod(me-p.to, n)&step != 0 })
		if err := c.Send(ctx, mod(me-step, n), tagBase+2*k+1, b); err != nil {
			return nil, err
		}
		for side, from := range []int{mod(me-step, n), mod(me+step, n)} {
			b, err := c.Recv(ctx, from, tagBase+2*k+side)
			if err != nil {
				return nil, err
			}
			arrived, err := parse(b, n)
			if err != nil {
				return nil, err
			}
			for _, p := range arrived {
				sortOut(p, side == 0)
			}
		}
	}
	return here, nil
}

func mod(a, n int) int { return ((a % n) + n) % n }

// take makes one message of the parcels that go now, and returns the others.
func take(parcels []parcel, goes func(p parcel) bool) (b []byte, stay []parcel) {
	for _, p := range parcels {
		if !goes(p) {
			stay = append(stay, p)
			continue
		}
		b = binary.BigEndian.AppendUint32(b, uint32(p.from))
		b = binary.BigEndian.AppendUint32(b, uint32(p.to))
		b = binary.BigEndian.AppendUint64(b, uint64(len(p.b)))
		b = append(b, p.b...)
	}
	return b, stay
}

// parse is the reverse of take.
func parse(b []byte, n int) ([]parcel, error) {
	var parcels []parcel
	for len(b) > 0 {
		if len(b) < parcelHead || binary.BigEndian.Uint64(b[8:]) > uint64(len(b)-parcelHead) {
			return nil, fmt.Errorf("message of an exchange: %w", kvtree.ErrCorrupt)
		}
		p := parcel{int(binary.BigEndian.Uint32(b)), int(binary.BigEndian.Uint32(b[4:])), nil}
		if p.from < 0 || p.from >= n || p.to < 0 || p.to >= n {
			return nil, fmt.Errorf("message from rank %d to %d of %d: %w", p.from, p.to, n, kvtree.ErrCorrupt)
		}
		end := parcelHead + int(binary.BigEndian.Uint64(b[8:]))
		p.b, b = b[parcelHead:end], b[end:]
		parcels = append(parcels, p)
	}
	return parcels, nil
}
