package decomp

import "sort"

// A cursor iterates over the runs of a lane, up to hi.
type cursor struct {
	lane    lane // the rest of the lane; lane[0] is current
	sources []source
	hi      int64
	rep     int64
	seg     int // index in lane[0].segs
	cur     owned
}

// seek moves to the first run that ends after lo, and cuts it at lo. It reports whether there is a run before hi.
func (c *cursor) seek(lo int64) bool {
	c.lane = c.lane[sort.Search(len(c.lane), func(i int) bool { return c.lane[i].stop > lo }):]
	if len(c.lane) == 0 {
		return false
	}
	k := &c.lane[0]
	c.rep = 0
	if k.count > 1 && lo > k.start {
		c.rep = min((lo-k.start)/k.stride, k.count-1)
	}
	rel := lo - c.rep*k.stride
	c.seg = sort.Search(len(k.segs), func(i int) bool { return k.segs[i].off+int64(k.segs[i].len) > rel })
	return c.load() && c.trim(lo)
}

// load sets cur to the run at the current position. At the end of a repetition, it moves to the next repetition
// first.
func (c *cursor) load() bool {
	k := &c.lane[0]
	if c.seg == len(k.segs) {
		c.seg = 0
		if c.rep++; c.rep >= k.count {
			c.rep = 0
			if c.lane = c.lane[1:]; len(c.lane) == 0 {
				return false
			}
			k = &c.lane[0]
		}
	}
	s := &k.segs[c.seg]
	src := &c.sources[s.src]
	c.cur = owned{Owned{s.off + c.rep*k.stride, int64(s.len), int(src.rank), src.pos + int64(s.pos) + c.rep*src.step}, int(s.other)}
	if c.cur.Off >= c.hi {
		return false
	}
	c.cur.Len = min(c.cur.Len, c.hi-c.cur.Off)
	return true
}

// next moves to the next run.
func (c *cursor) next() bool {
	c.seg++
	return c.load()
}

// trim cuts the current run at x. It moves on if nothing remains.
func (c *cursor) trim(x int64) bool {
	d := x - c.cur.Off
	if d <= 0 {
		return true
	}
	if d >= c.cur.Len {
		return c.next()
	}
	c.cur.Off, c.cur.Pos, c.cur.Len = x, c.cur.Pos+d, c.cur.Len-d
	return true
}
