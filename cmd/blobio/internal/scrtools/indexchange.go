package scrtools

import (
	"blobio/internal/base/fault"
	"blobio/internal/cli"
	"blobio/internal/scr/prefixdir"
	"blobio/scr/kvtree"
	"context"
	"errors"
	"fmt"
)

// named adds advice to the error of a dataset that does not exist.
func named(err error) error {
	if errors.Is(err, fault.ErrMissing) {
		return cli.WithHint(err, "scr index lists all datasets")
	}
	return err
}

// scrFilesKnown returns an error if the map of a dataset is damaged, because the files to remove are then unknown.
func scrFilesKnown(d *prefixdir.Dir, en prefixdir.Entry) error {
	at, err := d.Datasets.Locate(en)
	if err != nil {
		return nil // not finished
	}
	var damage *kvtree.FormatError
	if _, err := d.Datasets.ReadMap(at); errors.As(err, &damage) {
		return cli.WithHint(fmt.Errorf("the files of dataset %d %s are unknown: %w", en.ID, clean(en.Name), err),
			fmt.Sprintf("no file was removed; remove the files and %s by hand, then take the dataset off the list: scr index --drop %d", at.Meta, en.ID))
	}
	return nil
}

// indexChange is a change of the index. word is the name or number of a dataset; say prints the result.
type indexChange struct {
	dir  *prefixdir.Dir
	word string
	say  func(format string, args ...any)
}

func (f *scrIndexFlags) change(ctx context.Context, e *cli.Env, d *prefixdir.Dir, verb string) error {
	words := map[string]string{"add": f.add, "drop": f.drop, "delete": f.del, "current": f.current, "drop-after": f.after}
	word, wanted := words[verb]
	if wanted && word == "" {
		return cli.Usagef("--%s needs the name or number of a dataset", verb)
	}
	c := indexChange{dir: d, word: word, say: func(format string, args ...any) {
		if !f.asJSON {
			fmt.Fprintf(e.Out, format+"\n", args...)
		}
	}}
	return map[string]func(context.Context) error{
		"add": c.add, "drop": c.drop, "delete": c.delete, "current": c.current, "drop-after": c.dropAfter, "rebuild": c.rebuild,
	}[verb](ctx)
}

func (c *indexChange) find() (prefixdir.Entry, error) {
	x, _, _, err := c.dir.Index.Load()
	if err != nil {
		return prefixdir.Entry{}, err
	}
	en, err := x.Find(c.word)
	return en, named(err)
}

func (c *indexChange) add(ctx context.Context) error {
	s, err := c.dir.Add(ctx, c.word)
	if s.Err != nil {
		return cli.WithHint(err, "scr rebuild completes a scavenged dataset, with -n it only lists the existing files")
	}
	if err != nil {
		return err
	}
	c.say("dataset %d %s is listed", s.ID, clean(s.Summary.Dataset.Name))
	return nil
}

func (c *indexChange) drop(ctx context.Context) error {
	en, err := c.find()
	if err != nil {
		return err
	}
	if err := c.dir.Drop(ctx, en.Name); err != nil {
		return err
	}
	c.say("dataset %d %s is no longer listed; its files remain", en.ID, clean(en.Name))
	return nil
}

func (c *indexChange) delete(ctx context.Context) error {
	en, err := c.find()
	if err != nil {
		return err
	}
	if err := scrFilesKnown(c.dir, en); err != nil {
		return err
	}
	if err := c.dir.Flush.Forget(en.ID); err != nil {
		return err
	}
	if err := c.dir.Delete(ctx, en.Name); err != nil {
		return err
	}
	c.say("dataset %d %s and its files are removed", en.ID, clean(en.Name))
	return nil
}

func (c *indexChange) current(ctx context.Context) error {
	name := ""
	if c.word != "none" {
		en, err := c.find()
		if err != nil {
			return err
		}
		if err := c.startable(en); err != nil {
			return err
		}
		name = en.Name
	}
	if err := c.dir.Index.Update(ctx, func(x *prefixdir.Index) error { return x.SetCurrent(name) }); err != nil {
		return err
	}
	if name == "" {
		c.say("no dataset is current: the next run starts from the newest")
	} else {
		c.say("the next run starts from %s", clean(name))
	}
	return nil
}

// startable returns an error if no run can start from a dataset.
func (c *indexChange) startable(en prefixdir.Entry) error {
	cannot := func(why any) error {
		return fmt.Errorf("no run can start from dataset %d %s, which is %v", en.ID, clean(en.Name), why)
	}
	if !en.Restartable() {
		return cannot(en.Unfit())
	}
	x, _, _, err := c.dir.Index.Load()
	if err != nil {
		return err
	}
	s, err := newScrSound(c.dir, x)
	if err != nil {
		return err
	}
	if taken := s.taken[en.Name]; taken != nil {
		return cannot(taken)
	}
	if gone := s.gone[en.Name]; gone != nil {
		return cannot("incomplete: " + cli.ErrorText(gone))
	}
	return nil
}

func (c *indexChange) dropAfter(ctx context.Context) error {
	en, n, err := c.dir.DropAfter(ctx, c.word)
	if err != nil {
		return named(err)
	}
	c.say("%s newer than %s no longer listed; the files remain", cli.Plural(n, "dataset"), clean(en.Name))
	return nil
}

func (c *indexChange) rebuild(ctx context.Context) error {
	n, err := c.dir.Relist(ctx)
	if err != nil {
		return err
	}
	c.say("the index lists %s", cli.Plural(n, "dataset"))
	return nil
}
