package scr

import (
	"context"
	"fmt"
	"path"
	"strings"

	"blobio/comm"
	"blobio/internal/fault"
	"blobio/internal/vfs"
	"blobio/scr/prefixdir"
	"blobio/scr/spath"
	"blobio/scr/transfer"
)

// flushJobs are the copies that this rank has to make, all of them to the prefix directory; a collective. Bypassed files are where
// they belong already.
func (s *Session) flushJobs(ctx context.Context, d *cachedSet) ([]transfer.Job, error) {
	var jobs []transfer.Job
	var outside error // what the caches hold may be of a run with another prefix directory
	for _, f := range d.maps.Files() {
		j := transfer.Job{Src: f.Name, Dst: path.Join(f.Meta.Path, f.Meta.Name), Size: f.Meta.Size, CRC: f.Meta.CRC, HasCRC: f.Meta.HasCRC,
			Meta: s.p.metadata}
		if _, err := s.relative(j.Dst); err != nil && outside == nil {
			outside = err
		}
		if s.cfg.Zstd {
			j.Compress, j.Dst = true, j.Dst+prefixdir.ZstdSuffix
		}
		jobs = append(jobs, j)
	}
	if err := s.agree(ctx, outside); err != nil {
		return nil, err
	}
	if !s.p.containers || d.Bypass {
		return jobs, nil
	}
	return jobs, s.containers(ctx, d, jobs)
}

// containers sends the files to containers: one after the other, by node, rank and file, cut at the container size.
func (s *Session) containers(ctx context.Context, d *cachedSet, jobs []transfer.Job) error {
	var mine int64
	for i := range jobs {
		if jobs[i].Compress {
			jobs[i].Compress, jobs[i].Dst = false, strings.TrimSuffix(jobs[i].Dst, prefixdir.ZstdSuffix)
		}
		mine += jobs[i].Size
	}
	// Order: nodes by their first rank, then ranks.
	sizes, err := comm.Allreduce(ctx, s.c, oneHot(s.c.Size(), s.c.Rank(), mine), comm.Sum)
	if err != nil {
		return err
	}
	var at, total int64
	seen := map[string]bool{}
	var order []int
	for _, name := range s.node.names {
		if seen[name] {
			continue
		}
		seen[name] = true
		for q, other := range s.node.names {
			if other == name {
				order = append(order, q)
			}
		}
	}
	for _, r := range order {
		if r == s.c.Rank() {
			at = total
		}
		total += sizes[r]
	}
	name := func(n int64) string {
		return path.Join(s.prefix.DatasetDir(d.ID), fmt.Sprintf("ctr.%d.scr", n))
	}
	var cerr error
	if s.p.containerMax > 0 && total/s.p.containerMax >= maxContainers {
		cerr = fmt.Errorf("SCR_CONTAINER_SIZE: %w: %d bytes in containers of %d", fault.ErrTooLarge, total, s.p.containerMax)
	}
	for i := range jobs {
		if cerr != nil {
			break
		}
		if jobs[i].Size == 0 {
			continue // an empty file has no place in a container: it is made as a file
		}
		if jobs[i].Out, cerr = transfer.Pack(s.p.containerMax, at, jobs[i].Size, name); cerr != nil {
			cerr = fmt.Errorf("SCR_CONTAINER_SIZE: %w", cerr)
		}
		jobs[i].Dst = ""
		at += jobs[i].Size
	}
	if err := s.agree(ctx, cerr); err != nil {
		return err
	}
	if s.c.Rank() == 0 {
		for n := int64(0); n*s.p.containerMax < total && cerr == nil; n++ {
			_ = s.cfg.FS.Remove(name(n))
			cerr = vfs.WriteFile(s.cfg.FS, name(n), nil)
		}
		if cerr == nil {
			cerr = s.cfg.FS.SyncDir(s.prefix.DatasetDir(d.ID))
		}
	}
	return s.agree(ctx, cerr)
}

// maxContainers of a dataset: a container size that is far too small is a mistake.
const maxContainers = 1 << 20

func oneHot(n, i int, v int64) []int64 {
	out := make([]int64, n)
	out[i] = v
	return out
}

// copyOut copies the files of this rank to the prefix directory and returns what the map is to say of them. In the
// background there are limits of bandwidth and CPU time.
func (s *Session) copyOut(ctx context.Context, d *cachedSet, jobs []transfer.Job, background bool) ([]prefixdir.File, error) {
	if err := s.step("copy"); err != nil {
		return nil, err
	}
	var res []transfer.Result
	if err := s.clear(ctx, d, jobs, true); err != nil {
		return nil, err
	}
	if d.Bypass {
		for _, f := range d.maps.Files() {
			if d.summed {
				res = append(res, transfer.Result{Size: f.Meta.Size, CRC: f.Meta.CRC, Stored: f.Meta.Size})
				continue
			}
			crc, size, err := syncFile(s.cfg.FS, f.Name)
			if err != nil {
				return nil, err
			}
			if size != f.Meta.Size {
				return nil, fmt.Errorf("%s: %w: %d bytes, at Complete it had %d", f.Name, ErrCorrupt, size, f.Meta.Size)
			}
			if f.Meta.HasCRC && crc != f.Meta.CRC {
				return nil, fmt.Errorf("%s: %w: CRC-32 %#x, at Complete it had %#x", f.Name, ErrChecksum, crc, f.Meta.CRC)
			}
			res = append(res, transfer.Result{Size: size, CRC: crc, Stored: size})
		}
		d.summed = false
	} else if background && s.cfg.Daemon {
		var err error
		if res, err = s.byDaemon(ctx, jobs); err != nil {
			return nil, err
		}
	} else {
		o := transfer.Options{FS: s.fs, DstFS: s.cfg.FS, Files: 1, Sync: !s.cfg.NoSync}
		if background {
			o.Rate, o.CPU = float64(s.p.rate)/float64(s.c.Size()), s.p.percent
		}
		e, err := transfer.New(o)
		if err != nil {
			return nil, err
		}
		// What an earlier flush of the dataset left whole is not copied again.
		if res, err = e.Start(ctx, jobs).Wait(ctx); err != nil {
			return nil, err
		}
	}
	var out []prefixdir.File
	for i, f := range d.maps.Files() {
		rel, err := s.relative(path.Join(f.Meta.Path, f.Meta.Name))
		if err != nil {
			return nil, err
		}
		pf := prefixdir.File{Path: rel, Size: res[i].Size, HasSize: true, CRC: res[i].CRC, HasCRC: true}
		if !d.Bypass && jobs[i].Compress {
			pf.Zstd = res[i].Stored
		}
		if !d.Bypass && jobs[i].Out != nil {
			for _, seg := range jobs[i].Out {
				at, err := s.relative(seg.File)
				if err != nil {
					return nil, err
				}
				pf.Segments = append(pf.Segments, prefixdir.Segment{File: at, Offset: seg.Offset, Length: seg.Length})
			}
		}
		out = append(out, pf)
	}
	return out, nil
}

// relative is the name of a file as the map has it.
func (s *Session) relative(name string) (string, error) {
	if !spath.IsChild(s.p.prefix, name) {
		return "", pkg.Errorf("%s: %w %s", name, ErrOutside, s.p.prefix)
	}
	return spath.Relative(s.p.prefix, name)
}
