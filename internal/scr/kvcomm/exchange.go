package kvcomm

import (
	"context"
	"fmt"
	"strconv"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/scr/kvtree"
)

// Exchange sends each subtree of send to the rank that its key names in decimal, which may be this rank itself. It returns the
// trees sent to this rank, with the senders as keys, in ascending order. No rank needs to know its senders.
func Exchange(ctx context.Context, c comm.Comm, send *kvtree.Tree, opts *kvtree.Options) (*kvtree.Tree, error) {
	packed := make([][]byte, c.Size())
	err := opts.Validate()
	for key, t := range send.All() {
		to, nerr := strconv.Atoi(key)
		if nerr != nil || to < 0 || to >= c.Size() || strconv.Itoa(to) != key {
			err = fault.Usage("exchange with %.40q, want a rank below %d", key, c.Size())
		}
		if err != nil {
			break
		}
		packed[to], err = kvtree.Pack(t)
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	arrived, err := c.Alltoallv(ctx, packed)
	if err != nil {
		return nil, err
	}
	recv, err := byRank(arrived, opts)
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	return recv, nil
}

// byRank unpacks the trees of ranks. An empty byte slice means no tree.
func byRank(packed [][]byte, opts *kvtree.Options) (*kvtree.Tree, error) {
	all := kvtree.New()
	for rank, b := range packed {
		if len(b) == 0 {
			continue
		}
		t, err := kvtree.Unpack(b, opts)
		if err != nil {
			return nil, fmt.Errorf("tree of rank %d: %w", rank, err)
		}
		all.Set(strconv.Itoa(rank), t)
	}
	return all, nil
}
