package pio

import (
	"cmp"
	"context"
	"errors"

	"blobio/blob"
)

// A transaction holds the base of a file, which is its last committed state, and all later changes. commit writes the changes and
// makes the new base.
type transaction struct {
	s     *System
	ranks *agreement
	defs  *definitions
	opt   *FileOptions
	place *place
	stats *stats

	base   *base   // nil: none
	log    log     // writes since the base
	added  int64   // bytes of the log when the ranks last compared, and of later writes; the same on all ranks, even if frames differ
	w      *stream // an open writer, not committed; nil: none
	limits limits
}

// limits are sizes in bytes that decide how variables are written.
type limits struct {
	whole int64 // a record variable up to this size has no decomposition, unless a decomposition writes it
	fresh int64 // the same for a new variable, if no decomposition of the dataset has its shape
	batch int64 // records that a rank assembles at once; at least one
}

var usual = limits{whole: 64 << 10, fresh: 1 << 20, batch: 16 << 20}

// add adds writes of records of a variable to the log. Other ranks get this rank's error when the log is committed.
// Collective.
func (tx *transaction) add(ctx context.Context, v *variable, err error, recs []int64, writes []*write) error {
	var more int64
	for _, w := range writes {
		more += w.size
	}
	elems, most := product(tx.defs.shape(v)), more
	if w := writes[0]; !w.whole() || w.n != elems { // assembling then needs the rest of the record
		most = max(more, elems/int64(tx.s.c.Size())*int64(v.t.Size()))
	}
	if most > tx.opt.Memory {
		return failed(ENOMEM, "%s: write of %q: a rank has %d bytes, want at most FileOptions.Memory %d", tx.defs.path, v.name, most, tx.opt.Memory)
	}
	if tx.added+more > tx.opt.Memory {
		if err := tx.commit(ctx); err != nil {
			return err
		}
	}
	for i, w := range writes {
		w.failed = err
		tx.stats.wrote += int64(len(w.data))
		tx.log.add(v, recs[i], w)
		if tx.defs.isRecord(v) {
			tx.defs.records = max(tx.defs.records, recs[i]+1)
		}
	}
	if tx.added += more; tx.added > tx.opt.Buffer { // on all ranks, even if this rank has an error
		return cmp.Or(err, tx.spill(ctx))
	}
	return err
}

// dirty reports whether there is something to commit.
func (tx *transaction) dirty() bool {
	return tx.base == nil || tx.defs.changed || tx.w != nil || !tx.log.empty()
}

// commit commits all writes and definitions. Collective.
func (tx *transaction) commit(ctx context.Context) error {
	if !tx.defs.write {
		return nil
	}
	if tx.ranks.broken != nil { // set on all ranks
		return tx.ranks.broken
	}
	dirty, same, bad := tx.sortOut(ctx)
	for ; dirty; dirty, same = tx.dirty(), false {
		err := tx.advance(ctx, false, same)
		if err == nil {
			err = tx.finish(ctx)
		}
		if err != nil {
			return errors.Join(err, bad)
		}
	}
	tx.added = tx.log.bytes
	return bad
}

// advance puts the log, unless the open writer cannot take it. With open, a new writer will get more data later. same means that the
// ranks have already found the same definitions and writes. Collective.
func (tx *transaction) advance(ctx context.Context, open, same bool) error {
	if !same {
		if err := tx.same(ctx); err != nil {
			return err
		}
	}
	if tx.w == nil {
		if err := tx.begin(ctx, open); err != nil {
			return err
		}
	} else if tx.defs.changed || !tx.w.accepts(&tx.log) {
		return nil
	}
	return tx.putAll(ctx)
}

// finish commits the writer. Collective.
func (tx *transaction) finish(ctx context.Context) error {
	defer tx.stats.spend(writing)()
	st := tx.w
	err := st.w.Close(ctx)
	var unfinished *blob.UnfinishedError
	if err != nil && !errors.As(err, &unfinished) {
		tx.w.wrote = true // the log is empty, so data are lost
		return tx.fail(err)
	}
	tx.w = nil
	tx.stats.commits++
	if !st.adds && tx.base != nil {
		tx.stats.anew++
	}
	st.next.records = max(st.next.records, st.from)
	var unread error
	if tx.s.c.Rank() == tx.s.root() {
		st.next.stamp, unread = st.next.read()
	}
	err = errors.Join(err, agree(ctx, tx.s.c, unread), tx.settle(st.next))
	if tx.log.empty() {
		tx.defs.records = tx.base.records
	}
	return err
}

// bufferFactor is how many times FileOptions.Buffer the log may reach while some large variable is still unwritten.
const bufferFactor = 4

// spill writes the log without a commit, where possible. Collective.
func (tx *transaction) spill(ctx context.Context) error {
	if tx.ranks.broken != nil {
		return tx.ranks.broken
	}
	dirty, same, err := tx.sortOut(ctx)
	if err == nil && dirty && !same { // different writes would lead to different calls below
		err = tx.same(ctx)
	}
	if err != nil {
		return err
	}
	if tx.added = tx.log.bytes; tx.added <= tx.opt.Buffer { // some writes replaced others
		return nil
	}
	if tx.w == nil && (tx.opt.Form == Process || tx.log.bytes < bufferFactor*tx.opt.Buffer && !tx.decides()) {
		return nil // a process-centric writer would keep the data until Close anyway
	}
	if tx.w == nil && tx.base != nil {
		if a, err := tx.addition(ctx, true); err != nil || a == nil {
			return err
		}
	}
	if tx.w != nil && (tx.defs.changed || !tx.w.accepts(&tx.log)) {
		return tx.commit(ctx)
	}
	err = tx.advance(ctx, true, true)
	if err == nil {
		tx.added = tx.log.bytes
	}
	return err
}

// decides reports whether the log has a write of each large variable that a new writer would get.
func (tx *transaction) decides() bool {
	for _, v := range tx.defs.vars {
		later := tx.base != nil && !tx.defs.isRecord(v)
		if !later && len(tx.log.of[v]) == 0 && product(tx.defs.shape(v))*int64(v.t.Size()) > tx.limits.whole {
			return false
		}
	}
	return true
}

// settle replaces the base once the new files exist.
func (tx *transaction) settle(b *base) error {
	old := tx.base
	tx.base = b
	for i := range b.vars {
		tx.defs.vars[i].stored = b.vars[i].Name
	}
	return old.close()
}
