use super::*;

#[test]
fn only_options_about_speed_are_kept() {
    let text = "BOOT_IMAGE=/vmlinuz root=UUID=1 ro secret=hunter2 mitigations=off nohz_full=1-7 quiet transparent_hugepage=never psi=1\n";
    assert_eq!(kernel_options(text), "mitigations=off nohz_full=1-7 transparent_hugepage=never psi=1");
    for (text, expected) in
        [("always [madvise] never", "madvise"), ("60", "60"), ("[none]", "none"), ("[x", "[x"), ("", "")]
    {
        assert_eq!(chosen(text), expected);
    }
}

#[test]
fn watermarks_of_all_zones() {
    let zone = |name: &str, low: u64, high: u64, managed: u64, protection: &str| {
        format!(
            "Node 0, zone {name:>8}\n  per-node stats\n      nr_zone_low 7\n  pages free     3840\n        boost    0\n        min      10\n        low      {low}\n        high     {high}\n        promo    19\n        managed  {managed}\n        cma      0\n        protection: ({protection})\n      nr_free_pages 3840\n  pagesets\n    cpu: 0\n              count:    1\n              high:     14\n              batch:    1\n"
        )
    };
    // The first keeps more than it has; the second keeps a part; the last is there for everybody.
    let text = zone("DMA", 13, 16, 3840, "0, 2991, 23889, 23889, 23889")
        + &zone("DMA32", 2692, 3365, 768_000, "0, 0, 20898, 20898, 20898")
        + &zone("Normal", 18_000, 22_000, 5_300_000, "0, 0, 0, 0, 0")
        + &zone("Movable", 0, 0, 0, "0, 0, 0, 0, 0");
    let expected = Watermarks { low: 3840 + 2692 + 20_898 + 18_000, high: 3840 + 3365 + 20_898 + 22_000 };
    assert_eq!(watermarks(text.as_bytes()), expected);
    for nothing in ["", "Node 0, zone DMA\n", "low x\nmanaged\nprotection: (,)\n"] {
        assert_eq!(watermarks(nothing.as_bytes()), Watermarks::default(), "{nothing}");
    }
    let huge = "low 18446744073709551615\nmanaged 18446744073709551615\nNode\n".repeat(2);
    assert_eq!(watermarks(huge.as_bytes()).low, u64::MAX);
}

#[test]
fn cpus_of_two_architectures() {
    let x86 = "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nmicrocode\t: 0x1000065\nflags\t\t: fpu hypervisor\n\n\
        processor\t: 1\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor\n";
    let found = cpus(x86.as_bytes());
    assert_eq!((found.count, found.midr.len()), (2, 0));
    let expected = [
        ("cpu_vendor", "AuthenticAMD"),
        ("cpu_model", "17"),
        ("cpu", "AMD EPYC"),
        ("cpu_microcode", "0x1000065"),
        ("cpu_is_virtual", "true"),
    ];
    assert_eq!(found.facts, expected.map(|(key, value)| (key, value.to_owned())));
    // An Ampere Altra (Neoverse N1 r3p1), and one whose second core is another.
    let core = |part, variant| {
        format!(
            "processor\t: 0\nFeatures\t: fp asimd atomics\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: {variant}\nCPU part\t: {part}\nCPU revision\t: 1\n\n"
        )
    };
    let found = cpus(core("0xd0c", "0x3").as_bytes());
    assert_eq!((found.count, found.midr), (1, BTreeSet::from([0x413f_d0c1])));
    let found = cpus((core("0xd0c", "0x3") + &core("0xd40", "0x1")).as_bytes());
    assert_eq!((found.count, found.midr), (2, BTreeSet::from([0x411f_d401, 0x413f_d0c1])));
}

#[test]
fn limits_and_variables() {
    let text = "Limit                     Soft Limit           Hard Limit           Units     \nMax cpu time              unlimited            unlimited            seconds   \n\
        Max open files            1024                 524288               files     \nMax nice priority         0                    0                    \nbroken\n";
    let expected = [("cpu_time", "unlimited unlimited"), ("open_files", "1024 524288"), ("nice_priority", "0 0")];
    let found: Vec<_> = limits(text).collect();
    assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let text = b"PATH=/bin\0LD_BIND_NOW=1\0PASSWORD=LD_PRELOAD=x\0MALLOC_ARENA_MAX=2\0LD_PRELOADED=y\0";
    assert_eq!(variables(text).collect::<Vec<_>>(), [("LD_BIND_NOW", "1"), ("MALLOC_ARENA_MAX", "2")]);
}

#[test]
fn places_that_arguments_name() {
    for (argument, expected) in [
        ("-Djava.io.tmpdir=/data/tmp", Some(("java_temporary_folder", "/data/tmp"))),
        ("-Xloggc:gc.log", Some(("gc_log", "gc.log"))),
        ("-Xlog:gc*:file=/var/log/gc.log:time,uptime:filecount=5", Some(("gc_log", "/var/log/gc.log"))),
        ("-Xlog:gc*:\"/var/log/a:b.log\":time", Some(("gc_log", "/var/log/a:b.log"))),
        ("-Xlog:gc:/var/log/gc.log", Some(("gc_log", "/var/log/gc.log"))),
        ("-Xlog:gc:stdout:time", None),
        ("-Xlog:gc*", None),
        ("-Xlog:async", None),
        ("-Djava.io.tmpdir=", None),
        ("-Xmx1g", None),
    ] {
        let line = format!("java\0{argument}\0Main\0");
        assert_eq!(places(line.as_bytes()).first().copied(), expected, "{argument}");
    }
}

#[test]
fn overlays_and_swap() {
    assert_eq!(upper_folder("rw,lowerdir=/a:/b,upperdir=/c/d,workdir=/e"), Some("/c/d"));
    assert_eq!(upper_folder("rw"), None);
    let text = b"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/zram0                              partition\t4194300\t\t0\t\t100\n/x\n";
    assert_eq!(swaps(text).collect::<Vec<_>>(), [("/dev/zram0", 4194300 * 1024)]);
}

#[test]
fn no_bytes_are_too_strange() {
    proptest::proptest!(|(bytes: Vec<u8>, text: String, line in "(-Xlog:|CPU (part|variant|revision|implementer)|:|0x|[a-f0-9]|\"|\n|Max |low |high |managed |protection: |Node )*")| {
        for bytes in [&bytes, text.as_bytes(), line.as_bytes()] {
            let _ = (cpus(bytes), watermarks(bytes), variables(bytes).count(), places(bytes).len(), swaps(bytes).count());
        }
        for text in [&text, &line] {
            let _ = (kernel_options(text), chosen(text).len(), limits(text).count(), upper_folder(text).is_some());
        }
    });
}
