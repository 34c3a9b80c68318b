package commtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"blobio/comm"
	"blobio/internal/comm/inplace"
)

// testInPlace sends messages in place and as copies, and receives them in both ways. A message whose writer fails is not sent.
func testInPlace(t *testing.T, run Runner) {
	sizes := []int{0, 1, 100, 5000, 70000, 300000}
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		next, prev := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
		message := func(from, i int) []byte { return bytes.Repeat([]byte{byte(from + 16*i + 1)}, sizes[i%len(sizes)]) }
		errWrite := errors.New("no bytes")
		for i := range 4 * len(sizes) {
			m := message(c.Rank(), i)
			var err error
			if i%2 == 0 {
				err = inplace.Send(ctx, c, next, 1, len(m), func(b []byte) error {
					if len(b) != len(m) {
						return fmt.Errorf("%d bytes to write, want %d", len(b), len(m))
					}
					copy(b, m)
					return nil
				})
				if bad := inplace.Send(ctx, c, next, 1, len(m), func([]byte) error { return errWrite }); err == nil && bad != errWrite {
					err = fmt.Errorf("the writer's error became %v", bad)
				}
			} else {
				err = c.Send(ctx, next, 1, m)
			}
			if err != nil {
				return err
			}
		}
		// Several messages are held at once.
		var got [][]byte
		var release []func()
		for i := range 4 * len(sizes) {
			if i%4 < 2 {
				b, done, err := inplace.Recv(ctx, c, prev, 1)
				if err != nil {
					return err
				}
				got, release = append(got, b), append(release, done)
			} else {
				b, err := c.Recv(ctx, prev, 1)
				if err != nil {
					return err
				}
				got = append(got, b)
			}
		}
		for i, b := range got {
			if !bytes.Equal(b, message(prev, i)) {
				return fmt.Errorf("message %d of rank %d: got %d bytes, want %d of another content", i, prev, len(b), len(message(prev, i)))
			}
		}
		for _, done := range release {
			done()
		}
		return c.Barrier(ctx)
	})
}
