package runloop

import (
	"blobio/internal/base/par"
	"context"
	"time"
)

// Clock provides the time and waits.
type Clock interface {
	Now() time.Time
	// Wait returns after d. If ctx ends earlier, Wait returns the error of ctx.
	Wait(ctx context.Context, d time.Duration) error
}

// SystemClock is the Clock of the operating system.
type SystemClock struct{}

// Now implements Clock.
func (SystemClock) Now() time.Time { return time.Now() }

// Wait implements Clock.
func (SystemClock) Wait(ctx context.Context, d time.Duration) error {
	return par.Pause(ctx, d)
}
