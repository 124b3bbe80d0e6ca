"""A QUIC server and client of a few lines, for scenarios/real/quic.toml. Needs aioquic (pip install aioquic).

    python3 quic.py server          answers on port 4433 with as many bytes as it is asked for
    python3 quic.py client 1000000  asks `server`, prints the bytes that came and the seconds it took

With QLOG=FOLDER the server logs its packets there as a qlog, which `williwaw analyse` and `plot` read.
"""

import asyncio
import datetime
import os
import ssl
import sys
import time

from aioquic.asyncio import connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.logger import QuicFileLogger
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PROTOCOL = ["bytes"]
PORT = 4433


def certificate():
    """One that nobody has to trust."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
    now, day = datetime.datetime.now(datetime.timezone.utc), datetime.timedelta(days=1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now - day, now + day)
    return builder.sign(key, hashes.SHA256()), key


async def server():
    configuration = QuicConfiguration(is_client=False, alpn_protocols=PROTOCOL)
    configuration.certificate, configuration.private_key = certificate()
    if os.environ.get("QLOG"):
        configuration.quic_logger = QuicFileLogger(os.environ["QLOG"])

    async def answer(reader, writer):
        writer.write(bytes(int(await reader.readline())))
        writer.write_eof()

    streams = lambda reader, writer: asyncio.ensure_future(answer(reader, writer))
    await serve("0.0.0.0", PORT, configuration=configuration, stream_handler=streams)
    await asyncio.Future()


async def client(count):
    configuration = QuicConfiguration(is_client=True, alpn_protocols=PROTOCOL, verify_mode=ssl.CERT_NONE)
    start = time.monotonic()
    async with connect("server", PORT, configuration=configuration) as connection:
        reader, writer = await connection.create_stream()
        writer.write(b"%d\n" % count)
        writer.write_eof()
        print(len(await reader.read()), f"{time.monotonic() - start:.3f}")
    if os.environ.get("QLOG"):
        await asyncio.sleep(8)  # the server writes its log when it has forgotten the connection


asyncio.run(server() if sys.argv[1] == "server" else client(int(sys.argv[2])))
