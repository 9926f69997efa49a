"""Chains of services in a loop around AsyncOpenAI, which looks at each drawing and keeps it.

Run: python lab/perf/loop.py ADDRESS ITERATIONS FOLDER, with images in the folder
"""

import asyncio
import base64
import hashlib
import io
import sys
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI
from PIL import Image


def keep(encoded: str, folder: Path) -> Path:
    data = base64.b64decode(encoded)
    Image.open(io.BytesIO(data)).load()
    file = folder / hashlib.sha256(data).hexdigest()
    file.write_bytes(data)
    return file


async def chain(client: Any, file: Path, folder: Path, iterations: int) -> None:
    for _ in range(iterations):
        data = base64.b64encode(file.read_bytes()).decode()
        image = {
            "type": "image_url",
            "image_url": {"url": f"data:image/png;base64,{data}"},
        }
        content = [image, {"type": "text", "text": "Describe the image."}]
        turn = {"role": "user", "content": content}
        reply = await client.chat.completions.create(model="eyes", messages=[turn])
        prompt = reply.choices[0].message.content
        drawn = await client.images.generate(model="hands", prompt=prompt, size="64x64")
        file = await asyncio.to_thread(keep, drawn.data[0].b64_json, folder)


async def main(address: str, iterations: int, folder: Path) -> None:
    files = sorted(folder.rglob("*.png"))
    async with AsyncOpenAI(api_key="none", base_url=address) as client:
        await asyncio.gather(
            *(chain(client, file, folder, iterations) for file in files)
        )


asyncio.run(main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
