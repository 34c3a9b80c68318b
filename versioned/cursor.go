package versioned

import (
	"context"
)

// Versions lists the committed versions, oldest first.
func (a *Array) Versions() []VersionInfo { return a.cat.record().versions() }

// Newest is the number of the newest committed version that is not tainted, -1 if all are.
func (a *Array) Newest() int64 {
	if v := a.cat.record().newest(); v != nil {
		return v.Number
	}
	return -1
}

// Cursor stands at a committed version, for reading it. A copy of a Cursor moves by itself.
type Cursor struct {
	a      *Array
	number int64
}

// Cursor returns a Cursor at the newest version.
func (a *Array) Cursor() Cursor { return Cursor{a, a.Newest()} }

// move goes n versions on, n < 0 back. Beyond the ends it stays where it is.
func (c *Cursor) move(n int) error {
	v := c.a.cat.record().Versions
	i := 0
	for i < len(v) && v[i].Number < c.number {
		i++
	}
	if i < len(v) && v[i].Number > c.number && n > 0 {
		n-- // its own was dropped: i is the next one already
	}
	if i+n < 0 || i+n >= len(v) {
		return pkg.Errorf("array %s: %d versions on from %d: %w", c.a.spec.Name, n, c.number, ErrNoVersion)
	}
	c.number = v[i+n].Number
	return nil
}

// Prev goes to the version before.
func (c *Cursor) Prev() error { return c.move(-1) }

// Next goes to the version after.
func (c *Cursor) Next() error { return c.move(1) }

// ToNewest goes to the newest version.
func (c *Cursor) ToNewest() { c.number = c.a.Newest() }

// Dec goes n versions back, as GVR calls it.
func (c *Cursor) Dec(n int) error { return c.move(-n) }

// Number of the version.
func (c *Cursor) Number() int64 { return c.number }

// Info describes the version; ErrNoVersion if it was dropped.
func (c *Cursor) Info() (VersionInfo, error) {
	v, ok := c.a.cat.record().version(c.number)
	if !ok {
		return VersionInfo{}, pkg.Errorf("array %s: version %d: %w", c.a.spec.Name, c.number, ErrNoVersion)
	}
	return v.info(), nil
}

// GetBytes reads a box of the version, elements as they lie in memory.
func (c *Cursor) GetBytes(ctx context.Context, lo, hi []int64, dst []byte) error {
	return c.a.GetBytesAt(ctx, c.number, lo, hi, dst)
}

// PutBytes returns ErrReadOnly: committed versions do not change.
func (c *Cursor) PutBytes(context.Context, []int64, []int64, []byte) error {
	return pkg.Errorf("array %s: version %d: %w", c.a.spec.Name, c.number, ErrReadOnly)
}
