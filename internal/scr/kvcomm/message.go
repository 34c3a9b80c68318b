package kvcomm

import (
	"context"

	"blobio/comm"
	"blobio/scr/kvtree"
)

// Send sends a tree to a rank. It does not wait for the receiver.
func Send(ctx context.Context, c comm.Comm, to, tag int, t *kvtree.Tree) error {
	b, err := kvtree.Pack(t)
	if err != nil {
		return err
	}
	return c.Send(ctx, to, tag, b)
}

// Recv returns the next tree from a sender with a tag.
func Recv(ctx context.Context, c comm.Comm, from, tag int, opts *kvtree.Options) (*kvtree.Tree, error) {
	b, err := c.Recv(ctx, from, tag)
	if err != nil {
		return nil, err
	}
	return kvtree.Unpack(b, opts)
}

// Bcast returns the tree of rank root on every rank; root gets t itself. t is ignored on other ranks. A rank passes its error in
// err; then all ranks get an error.
func Bcast(ctx context.Context, c comm.Comm, root int, t *kvtree.Tree, err error, opts *kvtree.Options) (*kvtree.Tree, error) {
	var b []byte
	if err == nil {
		err = opts.Validate()
	}
	if err == nil && c.Rank() == root {
		b, err = kvtree.Pack(t)
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	if b, err = c.Bcast(ctx, root, b); err != nil {
		return nil, err
	}
	if c.Rank() != root {
		t, err = kvtree.Unpack(b, opts)
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	return t, nil
}
