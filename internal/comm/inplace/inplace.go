// Package inplace sends and receives long messages without copying them, if the Comm supports it.
package inplace

import (
	"context"

	"blobio/comm"
)

// messenger is implemented by Comms that give access to the memory of their messages.
type messenger interface {
	SendInPlace(ctx context.Context, to, tag, n int, write func([]byte) error) error
	RecvInPlace(ctx context.Context, from, tag int) (b []byte, done func(), err error)
}

// Send is like Send of a Comm. write writes the n bytes of the message. If write fails, Send sends nothing and returns its error.
func Send(ctx context.Context, c comm.Comm, to, tag, n int, write func([]byte) error) error {
	if m, ok := c.(messenger); ok {
		return m.SendInPlace(ctx, to, tag, n, write)
	}
	b := make([]byte, n)
	if err := write(b); err != nil {
		return err
	}
	return c.Send(ctx, to, tag, b)
}

// Recv is like Recv of a Comm, but the message is valid only until the caller calls done, which it must do once. done is never
// nil.
func Recv(ctx context.Context, c comm.Comm, from, tag int) (b []byte, done func(), err error) {
	if m, ok := c.(messenger); ok {
		return m.RecvInPlace(ctx, from, tag)
	}
	b, err = c.Recv(ctx, from, tag)
	return b, func() {}, err
}
