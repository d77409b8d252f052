//! Secrets in the forms that people give them, and ordinary arguments that have to stay readable.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use fathom_evidence::mask::{self, MASK};

/// What no answer may hold, in whatever form it was hidden.
const CANARY: &str = "Tr0ub4dor";

/// Texts with a secret in them. What follows a bar must still be there.
const SECRETS: &str = include_str!("../../../testdata/secrets/forms.txt");

fn secrets() -> impl Iterator<Item = &'static str> {
    SECRETS.lines().filter(|line| !line.starts_with("# "))
}

/// Secrets that their own form tells, whatever is before them.
const FORMS: &[&str] = &[
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAY34FZKBOKMUTVV7A",
    "kQ7/x2LmNs8Rt4Vw6Yz1/bCdEfGhIj0PqU3sT5vW",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "glpat-x9Kq2LmNs8Rt4Vw6Yz1A",
    "xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzqqgy",
    "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe",
    "ya29.a0AfH6SMBx8Qk2LmNs8Rt4Vw6Yz1A",
    "hvs.CAESIJlXn2Qk8Rt4Vw6Yz1AbCdEfGhIj",
    "SG.ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf09kqeF8tAmbihYzrnopKc1s5cr",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "Zm9vYmFyQmF6UXV4MTIzNDU2Nzg5MEFiQ2RFZkdo",
    "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawc",
];

/// What must be read as it is.
const ORDINARY: &[&str] = &[
    "-Xmx4g -Xms4g -Xss512k",
    "-XX:+UseG1GC -XX:MaxGCPauseMillis=200 -XX:ReservedCodeCacheSize=240m",
    "-XX:+UnlockDiagnosticVMOptions -XX:+PrintNMethods -XX:-UsePerfData",
    "-XX:HeapDumpPath=/var/log/shop/heap.hprof",
    "-XX:OnOutOfMemoryError=kill -9 %p",
    "-Xlog:gc*,safepoint:file=/var/log/shop/gc.log:time,uptime,level,tags:filecount=10,filesize=20M",
    "-Xloggc:/var/log/gc-2026-11-22.log",
    "-cp /opt/shop/lib/guava-31.1-jre.jar:/opt/shop/lib/token-bucket-1.2.jar:/opt/shop/lib/secret-santa.jar",
    "-classpath /home/app/.m2/repository/org/springframework/spring-core/5.3.39/spring-core-5.3.39.jar",
    "com.acme.checkout.CheckoutServiceApplication",
    "org.springframework.boot.loader.launch.JarLauncher --server.port=8080",
    "shop.Main start --port 8080 --host 0.0.0.0 --threads 16",
    "java -p mods -m shop/shop.Main",
    "java -p /opt/mods:/opt/more --add-modules ALL-SYSTEM",
    "-p 8080",
    "-Dserver.port=8080 -Dspring.profiles.active=prod,metrics",
    "-Dfile.encoding=UTF-8 -Duser.timezone=Europe/Berlin -Djava.io.tmpdir=/var/tmp",
    "-Dlog4j2.configurationFile=file:/etc/shop/log4j2.xml",
    "-Dhttp.nonProxyHosts=localhost|127.*|[::1]",
    "-Djavax.net.ssl.keyStore=/etc/shop/keystore.p12 -Djavax.net.ssl.trustStoreType=PKCS12",
    "-Djava.security.egd=file:/dev/./urandom",
    "-Dcluster=3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    "-Dcluster.name=checkout-prod-eu-central-1a -Dnode=checkout-7d9f8b6c5d-x2x4z",
    "-Durl=jdbc:postgresql://db.internal:5432/shop?ssl=true&connectTimeout=10",
    "-Dbrokers=kafka-1:9092,kafka-2:9092,kafka-3:9092",
    "-Dendpoint=https://collector.example.com:4317/v1/traces",
    "-javaagent:/opt/opentelemetry/opentelemetry-javaagent-1.32.0.jar",
    "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=*:5005",
    "-Dmonkey=1 -Dkeyboard=2 -Dtokenizer=standard -Dpasswordless=true",
    "-Dpassword.file=/etc/shop/password -Doauth.token.url=https://login.example.com/token",
    "--add-opens=java.base/java.lang=ALL-UNNAMED --enable-native-access=ALL-UNNAMED",
    "-Dcom.sun.management.jmxremote.authenticate=true -Dcom.sun.management.jmxremote.ssl=false",
    "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so",
    "docker.io/library/shop@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "/var/lib/docker/overlay2/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08/merged",
    "/system.slice/docker-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08.scope",
    "_ZN6icu_7212UnicodeSetC1ERKNS_13UnicodeStringER10UErrorCode",
    "V  [libjvm.so+0xf1c2d4]  Unsafe_PutLong+0x124 (C2 CompilerThread0)",
    "__aarch64_sync_cache_range Java_java_util_zip_Inflater_inflateBytesBytes0",
    "G1TryInitiateConcMark G1CollectForAllocation ZGenerationalYoungMark2Relocate",
    "git clone ssh://git@host/repository.git",
    "Basic authentication is off; the bearer of this note may pass",
    "--first java-hash mod 8 --slow 10:02:21..10:02:51",
    "-Dversion=17.0.15+6-Debian-1deb12u1 -Dbuild=2026-11-22T13:50:00Z",
    "AbstractSingletonProxyFactoryBean HotSpot64BitTieredCompilers JdbcOdbcBridge2ConnectionPool",
];

#[test]
fn no_secret_passes() {
    let mut wrong = Vec::new();
    let mut check = |is_right: bool, text: &str, masked: &str| {
        if !is_right {
            wrong.push(format!("{text} → {masked}"));
        }
    };
    for case in secrets() {
        let (text, rest) = case.rsplit_once('|').unwrap_or((case, ""));
        let masked = mask::command_line(text);
        check(masked.contains(MASK) && !masked.contains(CANARY) && masked.contains(rest), text, &masked);
        if text.starts_with('-') {
            let masked = mask::options(text);
            check(masked.contains(MASK) && !masked.contains(CANARY), text, &masked);
        }
        let one_by_one: Vec<&str> = text.split(' ').collect();
        for masked in [mask::arguments(&[text]), mask::arguments(&one_by_one)] {
            // What blanks hold together is together in an argument of its own only.
            let is_apart = text.contains(['"', '\'', ';', ':'])
                || text.contains("BEGIN")
                || text.contains(" Tr0ub4dor")
                || text.contains("= ");
            check(!masked.contains(CANARY) || is_apart, text, &masked);
        }
    }
    for secret in FORMS {
        for text in [
            secret.to_string(),
            format!("shop.Main {secret} x"),
            format!("-Dx={secret}"),
            format!("a:{secret},b"),
            format!("\"{secret}\""),
        ] {
            let masked = mask::command_line(&text);
            let core = &secret[4.min(secret.len())..16];
            check(masked.contains(MASK) && !masked.contains(core), &text, &masked);
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "of {} forms", secrets().count() + FORMS.len());
}

#[test]
fn what_is_masked_is_not_masked_again() {
    for case in secrets().chain(FORMS.iter().copied()).chain(ORDINARY.iter().copied()) {
        let once = mask::command_line(case);
        assert_eq!(mask::command_line(&once), once);
        let once = mask::options(case);
        assert_eq!(mask::options(&once), once);
    }
}

#[test]
fn what_is_ordinary_stays() {
    let mut wrong = Vec::new();
    for text in ORDINARY {
        let words: Vec<&str> = text.split(' ').collect();
        let options = if text.starts_with('-') { mask::options(text) } else { (*text).into() };
        for masked in [mask::command_line(text).into_owned(), mask::arguments(&words), options.into_owned()] {
            if masked != *text {
                wrong.push(masked);
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "of {} texts", ORDINARY.len());
}

#[test]
fn a_value_reaches_to_the_next_option() {
    for (options, expected) in [
        ("-Ddb.password=correct horse, battery.staple/x=1 -Xmx1g", "-Ddb.password=[masked] -Xmx1g"),
        ("-Xmx1g -Ddb.password=a b", "-Xmx1g -Ddb.password=[masked]"),
        ("-Dx=a b -Xmx1g", "-Dx=a b -Xmx1g"),
    ] {
        assert_eq!(mask::options(options), expected);
    }
    let arguments = ["java", "-Ddb.password=a b -Xmx1g", "--token", "x y", "shop.Main", "--token", "--verbose"];
    assert_eq!(mask::arguments(&arguments), "java -Ddb.password=[masked] --token [masked] shop.Main --token --verbose");
}

#[test]
fn of_unknown_properties_only_plain_values_are_shown() {
    for (name, value, is_shown) in [
        ("java.vm.name", "OpenJDK 64-Bit Server VM", true),
        ("java.class.path", "/opt/a.jar:/opt/b.jar", true),
        ("sun.java.command", "shop.Main --port 80", true),
        ("user.home", "/root", true),
        ("app.pool.size", "16", true),
        ("app.timeout", "250ms", true),
        ("app.version", "2.7.18-rc1", true),
        ("app.home", "/opt/app", true),
        ("app.main", "com.acme.Main", true),
        ("app.cache.enabled", "true", true),
        ("log.level", "DEBUG", true),
        ("app.config", "shop.yaml", true),
        ("app.host", "db.internal:5432", true),
        ("app.region", "de", true),
        ("empty.password", "", true),
        ("use.password", "false", true),
        ("app.motto", "open sesame", false),
        ("app.door", "hunter2", false),
        ("db.pwd", "abc", false),
        ("AWS_SECRET_ACCESS_KEY", "abc", false),
        ("MAIL", "me@example.com", false),
        ("app.code", "1234567890123456", false),
        ("app.json", "{\"a\":1}", false),
    ] {
        assert_eq!(mask::value(name, value) == value, is_shown, "{name}={value}");
    }
    assert_eq!(mask::value("sun.java.command", "shop.Main --password abc"), "shop.Main --password [masked]");
}

#[test]
fn no_text_is_too_strange() {
    proptest::proptest!(|(text: String, parts in proptest::collection::vec("(password|-p|token|=|:|;|\"|'|\\\\\"|@|://| |ü|Bearer|[a-z0-9]{1,9}){0,9}", 0..4))| {
        for text in [text, parts.concat()] {
            let masked = mask::command_line(&text).into_owned();
            proptest::prop_assert!(masked.len() <= text.len() + MASK.len() * (text.len() + 1));
            let _ = (mask::options(&text), mask::value(&text, &text), mask::arguments(&parts));
        }
    });
}

#[test]
fn long_texts_come_to_an_end() {
    const LENGTH: usize = 1 << 18;
    for piece in [
        "password=x ",
        "password=x;",
        "password=",
        "-p \"x ",
        "-p x ",
        "password=\"x",
        "/0123456789abcdef0123456789abcdef",
        "://a:b",
        "-----BEGIN A-----",
        "--token ",
        "Bearer A1",
        "password: a b c ",
    ] {
        let text = piece.repeat(LENGTH / piece.len());
        let masked = mask::command_line(&text);
        assert!(masked.len() <= text.len() * MASK.len(), "{piece}");
    }
}

#[test]
fn names_of_threads_and_files_stay_readable() {
    for name in [
        "http-nio-8080-exec-12",
        "pool-7-thread-13",
        "C2 CompilerThread0",
        "G1 Conc#2",
        "ForkJoinPool.commonPool-worker-3",
        "kafka-producer-network-thread | producer-1",
        "Common-Cleaner",
        "JMX server connection timeout 45",
        "/var/log/shop/gc-2026-11-27_10-00-00.log",
        "shop.Cart.lock",
        "{\"bytes\":4096,\"path\":\"/srv/data/part-0001.db\"}",
        "GET /orders/4711?page=2",
        "0x00007f8a3c0a1b2c",
        "user=app:8080",
        "-port 80 -profile -p8080 -pretty -parallel",
    ] {
        assert_eq!(mask::command_line(name), name);
    }
}

#[test]
fn of_a_threads_name_free_text_is_left_out() {
    for name in [
        "main",
        "http-nio-8080-exec-12",
        "qtp1580893732-23",
        "C2 CompilerThread0",
        "Gang worker#0 (Parallel GC Threads)",
        "G1 Conc#2",
        "Camel (camel-1) thread #2",
        "I/O dispatcher 1",
        "New I/O worker #3",
        "kworker/0:1H",
        "kafka-producer-network-thread | producer-1",
        "main-SendThread(zookeeper-0.internal:2181)",
        "RMI TCP Connection(12)-127.0.0.1",
        "elasticsearch[node-1][search][T#3]",
        "RpcServer.default.FPBQ.Fifo.handler=29,queue=2,port=16020",
        "JMX server connection timeout 45",
        "ForkJoinPool.commonPool-worker-3",
        "DefaultDispatcher-worker-2",
        "",
    ] {
        assert_eq!(mask::thread_name(name), name);
    }
    for (name, kept) in [
        ("http-nio-8080-exec-1 [GET /customers/anna]", "http-nio-#-exec-# [GET [masked]"),
        ("cart 4711 of anna.schmidt@shop.example", "cart # of [masked]"),
        ("anna@shop.example", "[masked]"),
        ("OkHttp https://api.example.com/...", "OkHttp https:[masked]"),
        ("IPC Client (12) connection to nn/10.1.2.3:8020 from hdfs", "IPC Client (#) connection to nn[masked]"),
        ("RS_OPEN_REGION-regionserver/host:16020-0", "RS_OPEN_REGION-regionserver[masked]"),
        ("Log4j2-TF-1-AsyncLogger[AsyncContext@18b4aac2]-1", "Log#j#-TF-#-AsyncLogger[[masked]"),
        ("worker-3 user=anna", "worker-# user=[masked]"),
        ("session 3f2a9c1b77", "session [masked]"),
        ("job 550e8400-e29b-41d4-a716-446655440000", "job [masked]"),
        ("import of 'Anna Schmidt'", "import of [masked]"),
        ("Executor task launch worker for task 0.0 in stage 1.0", "Executor task launch worker for task [masked]"),
    ] {
        assert_eq!(mask::thread_name(name), kept);
        assert_eq!(mask::thread_name(kept), kept, "once more");
        let mut recording = fathom_evidence::Recording::default();
        recording.add_thread(7, name);
        assert_eq!(recording.text(recording.threads.get(7).unwrap().name), kept);
    }
    proptest::proptest!(|(name: String)| {
        proptest::prop_assert!(mask::thread_name(&name).len() <= name.len() + MASK.len());
    });
}
