package scr

import (
	"context"
	"fmt"

	"blobio/internal/scr/kvcomm"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// newest finds the newest checkpoint to restart from that is whole, and fetches it if it is not in the caches; with below one of a
// lower number. A collective; nil: there is none.
func (fe *fetcher) newest(ctx context.Context, below int) (*offer, error) {
	tried := map[string]bool{}
	for {
		d := fe.cache.newest()
		e, ok, err := fe.candidate(ctx, d, tried, below)
		if err != nil {
			return nil, err
		}
		if !ok {
			if d == nil {
				return nil, nil
			}
			if fe.p.global || fe.p.fetchBypass {
				// It was flushed by Open; if that is not where it is, the caches serve.
				fe.warn("scr: the checkpoint is not in the prefix directory; restarting from the cache", "name", d.Dataset.Name)
			}
			return &offer{Restart: Restart{ID: d.ID, Ckpt: d.Dataset.Ckpt, Name: d.Dataset.Name, Ranks: fe.c.Size()}, set: d}, nil
		}
		tried[e.Name], below = true, e.ID
		o, err := fe.fetch(ctx, e)
		if err == nil {
			return o, nil
		}
		if fatal(ctx, err) {
			return nil, err
		}
		fe.warn("scr: checkpoint cannot be fetched", "name", e.Name, "err", err)
	}
}

// candidate is the next checkpoint of the prefix directory to try: newer than what the caches hold, or anything if
// the restart is to be from there; with below one of a lower number. The same on all ranks; ok is false if the caches are to serve.
func (fe *fetcher) candidate(ctx context.Context, d *cachedSet, tried map[string]bool, below int) (prefixdir.Entry, bool, error) {
	var t *kvtree.Tree
	var err error
	if fe.c.Rank() == 0 && (fe.p.fetch || fe.p.global || fe.p.fetchBypass) {
		var e prefixdir.Entry
		var found bool
		if e, found, err = fe.index.choose(ctx, d, tried, below); found {
			t = kvtree.New()
			t.SetAt(e.Dataset.Tree(), "DSET")
			t.Value("NAME").SetStr(e.Name)
			t.Value("ID").SetInt(e.ID)
		}
	}
	if t, err = kvcomm.Bcast(ctx, fe.c, 0, t, err, nil); err != nil {
		return prefixdir.Entry{}, false, fmt.Errorf("index: %w", err)
	}
	if t.Len() == 0 {
		return prefixdir.Entry{}, false, nil
	}
	e, err := parseEntry(t)
	return e, err == nil, err
}

// parseEntry reads what candidate sends.
func parseEntry(t *kvtree.Tree) (e prefixdir.Entry, err error) {
	if e.Name, err = t.Value("NAME").Str(); err != nil {
		return e, err
	}
	if e.ID, err = t.Value("ID").Int(); err != nil {
		return e, err
	}
	e.Dataset, err = record.ParseDataset(t.Get("DSET"), "")
	return e, err
}
