package lockfs

import (
	"fmt"
	"path"
	"strings"
	"time"
)

// pageSize is the unit of locks and of a client's cache.
const pageSize = 4 << 10

// A Layout is how a file is striped.
type Layout struct {
	Size  int64 `json:"stripe_size"`  // bytes of a unit, a multiple of 4 KiB
	Count int   `json:"stripe_count"` // objects of a file
}

// Costs of calls. The zero value counts without costs.
type Costs struct {
	RoundTrip    time.Duration // between a client and a server
	MetaCall     time.Duration // of the metadata server
	DataCall     time.Duration // of a storage server
	Revocation   time.Duration // of a storage server, beside the round trip to the holder that the asking client waits for
	BytesPerSec  float64       // of a storage server; 0: no cost
	BytesPerCall int64         // data of one call to a storage server at most
	Sleep        bool          // calls take this long: they queue at servers, and wait for round trips
}

// Config of a Server.
type Config struct {
	Clients int
	Servers int // storage servers
	Layout
	Dirs  map[string]Layout // of what is created below a directory, by slash-separated path from the root; the longest holds
	Costs Costs
	Trace func(client int, thread uint32, kind, name string) // called for each metadata call, concurrently
}

// DefaultCosts are of the order of a large system's: 0.1 ms to a server, 20,000 metadata calls a second, 2 GB/s for each storage server.
var DefaultCosts = Costs{
	RoundTrip:    100 * time.Microsecond,
	MetaCall:     50 * time.Microsecond,
	DataCall:     100 * time.Microsecond,
	Revocation:   200 * time.Microsecond,
	BytesPerSec:  2e9,
	BytesPerCall: 4 << 20,
}

func (c *Config) validate() error {
	if c.Clients < 1 || c.Clients > maxClients || c.Servers < 1 {
		return fmt.Errorf("%d clients and %d servers, want 1 to %d and at least 1", c.Clients, c.Servers, maxClients)
	}
	check := func(l Layout) error {
		if l.Size < pageSize || l.Size%pageSize != 0 || l.Count < 1 || l.Count > c.Servers {
			return fmt.Errorf("stripe of %d bytes on %d servers, want a multiple of %d and 1 to %d", l.Size, l.Count, pageSize, c.Servers)
		}
		return nil
	}
	if c.Costs.BytesPerCall < 0 || c.Costs.BytesPerSec < 0 {
		return fmt.Errorf("negative costs")
	}
	for _, l := range c.Dirs {
		if err := check(l); err != nil {
			return err
		}
	}
	return check(c.Layout)
}

// layout returns the layout of a new file.
func (c *Config) layout(name string) Layout {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if l, ok := c.Dirs[dir]; ok {
			return l
		}
		if dir == "." || strings.HasSuffix(dir, "/") {
			return c.Layout
		}
	}
}
