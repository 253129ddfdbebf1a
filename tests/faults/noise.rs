//! Bytes of chance on the socket.

use crate::probing::{common, first_fault, monitor, probe};

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(48))]
    #[test]
    fn arbitrary_bytes_on_the_socket_never_panic(
        start in proptest::sample::select(vec![
            "",
            "HTTP/1.1 ",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ",
            "HTTP/1.1 307 OK\r\nLocation: ",
        ]),
        bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("loopback works");
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("loopback works");
            let url = format!("http://{}/mcp", listener.local_addr().expect("loopback works"));
            tokio::spawn(async move {
                use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
                while let Ok((mut stream, _)) = listener.accept().await {
                    let _ = stream.read(&mut [0; 4096]).await;
                    let _ = stream.write_all(start.as_bytes()).await;
                    let _ = stream.write_all(&bytes).await;
                    let _ = stream.shutdown().await;
                }
            });
            let monitor = monitor(&url, 1);
            let seen = probe(monitor.clone()).await;
            assert!(first_fault(&seen).is_some(), "no bytes of chance are an MCP server");
            common("arbitrary bytes", &monitor, &seen);
        });
    }
}
